"""Parameters of the API: the same searches as lines, typed; what they refuse."""

import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from common.errors import DomainError, InvalidInput, NotFound
from marketplace.errors import SearchSyntaxError
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.search.language.fields import PARAMETERS, SUFFIX, TERMS, Condition, OfferQuery, Op
from marketplace.search.language.options import CONDITIONS_MAX, LIST_MAX, in_order
from marketplace.search.language.parser import LINE_MAX, parse_line, write_line
from marketplace.web.search.language.query_string import COMPARED, NAMES, VALUES_MAX, parse_params, write_params
from tests.marketplace.search.searches import conditions, searches

NEEDS = ImageNeeds(cuda=1_201)


def needs(image: str) -> ImageNeeds:
    if image == "none-such":
        raise NotFound("There is no such image.")
    return NEEDS


def read(address: str, **rest: Any) -> OfferQuery:
    return parse_params(QueryDict(address), image_needs=needs, **rest)


def with_needs(query: OfferQuery) -> OfferQuery:
    return replace(query, image_needs=NEEDS) if query.image else query


def faults(address: str) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidInput) as caught:
        read(address)
    assert (caught.value.status, caught.value.code) == (400, "invalid_input")
    return [(each.field, each.code, each.detail) for each in caught.value.errors]


@given(query=searches(), limit=st.integers(1, 200), cursor=st.sampled_from([None, "abc-_"]))
def test_an_address_says_what_the_line_says(query: OfferQuery, limit: int, cursor: str | None) -> None:
    paged = replace(with_needs(query), limit=limit, cursor=cursor)
    assert read(write_params(paged)) == paged
    assert with_needs(parse_line(write_line(query))) == replace(paged, limit=50, cursor=None)


@given(query=searches(), taken=st.integers(0, 6))
def test_line_and_parameters_are_put_together(query: OfferQuery, taken: int) -> None:
    """Any part of a search may stand in `q`."""
    inside = parse_line(" ".join(write_line(OfferQuery(conditions=(one,))) for one in query.conditions[:taken]))
    outside = replace(query, conditions=query.conditions[taken:])
    address = QueryDict(write_params(outside), mutable=True)
    assume("q" not in address)
    address["q"] = write_line(inside)
    assert parse_params(address, image_needs=needs) == with_needs(query)


@pytest.mark.parametrize("name", TERMS)
def test_each_term_is_asked_for_by_parameters(name: str) -> None:
    @settings(max_examples=50)
    @given(one=conditions(TERMS[name]))
    def check(one: Condition) -> None:
        address = write_params(OfferQuery(conditions=(one,)))
        assert read(address) == OfferQuery(conditions=(one,))
        assert set(QueryDict(address)) <= {*COMPARED, "q"}

    check()


def test_every_term_has_every_operator_it_allows() -> None:
    for term in TERMS.values():
        for suffix, op in SUFFIX.items():
            name = f"{term.name}__{suffix}" if suffix else term.name
            assert (name in COMPARED) == (op in term.ops)
    assert set(PARAMETERS) <= set(NAMES)


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("gpu_model=t4&gpu_model=rtx-3090", Condition("gpu", Op.IN, ("rtx-3090", "t4"))),
        ("gpu_model=4090", Condition("gpu", Op.EQ, "rtx-4090")),
        ("gpu__in=t4,l4", Condition("gpu", Op.IN, ("l4", "t4"))),
        ("gpu__in=t4&gpu__in=l4", Condition("gpu", Op.IN, ("l4", "t4"))),
        ("gpu__ne=t4", Condition("gpu", Op.NE, "t4")),
        ("gpu_series=geforce", Condition("series", Op.EQ, "GeForce")),
        ("region=Paris,%20FR", Condition("region", Op.EQ, "Paris, FR")),
        ("region__notin=a,b", Condition("region", Op.NOT_IN, ("a", "b"))),
        ("reliability_min=0.99", Condition("reliability", Op.GE, Decimal("0.99"))),
        ("lease_hours_min=720", Condition("lease_hours", Op.GE, Decimal(720))),
        ("lease_hours_min=30d", Condition("lease_hours", Op.GE, Decimal(720))),
        ("vram_gb_min=24", Condition("vram", Op.GE, Decimal(24))),
        ("price_max=1.50", Condition("price", Op.LE, Decimal("1.5"))),
        ("price__lt=1.5", Condition("price", Op.LT, Decimal("1.5"))),
        ("total__gte=3", Condition("total", Op.GE, Decimal(3))),
        ("cuda_min=12.4", Condition("cuda", Op.GE, "12.4")),
        ("cpu_cores_min=8", Condition("cpu", Op.GE, Decimal(8))),
        ("ram_gb_min=32", Condition("ram", Op.GE, Decimal(32))),
        ("disk_kind=nvme&disk_kind=ssd", Condition("disk", Op.IN, ("nvme", "ssd"))),
        ("disk_read_min=1000", Condition("disk_read", Op.GE, Decimal(1000))),
        ("net_up_min=100", Condition("net_up", Op.GE, Decimal(100))),
        ("net_down_min=1Gbit/s", Condition("net_down", Op.GE, Decimal(1000))),
        ("verified=true", Condition("verified", Op.EQ, True)),
        ("verified__ne=true", Condition("verified", Op.EQ, False)),
        ("runtime=docker", Condition("runtime", Op.EQ, "docker")),
        ("simulated=false", Condition("simulated", Op.EQ, False)),
        ("nvlink=1", Condition("nvlink", Op.EQ, True)),
        ("count__lte=4", Condition("count", Op.LE, Decimal(4))),
        ("q=price<2", Condition("price", Op.LT, Decimal(2))),
        ("price_max=&q=&region=&region=eu", Condition("region", Op.EQ, "eu")),
    ],
)
def test_parameters(address: str, wanted: Condition) -> None:
    assert read(address).conditions == (wanted,)


@pytest.mark.parametrize(
    ("address", "wished"),
    [
        ("gpu_count=2", {"gpu_count": 2}),
        ("count=2", {"gpu_count": 2}),
        ("count__gte=2&gpu_count=2&q=count%3E1", {"gpu_count": 2}),
        ("billing_mode=spot&sort=-value&limit=10", {"billing_mode": "spot", "sort": "-value", "limit": 10}),
        (
            "billing_mode=reserved&term=year&data_disk_gb=100",
            {"billing_mode": "reserved", "term": "year", "data_disk_gb": 100},
        ),
        ("image=berth-base", {"image": "berth-base", "image_needs": NEEDS}),
        ("q=image=berth-base", {"image": "berth-base", "image_needs": NEEDS}),
    ],
)
def test_wishes(address: str, wished: dict[str, Any]) -> None:
    assert read(address) == OfferQuery(**wished)


def test_every_condition_that_is_given_must_hold() -> None:
    both = read("price_max=2&price_max=1&region=eu&q=price<3 region!=us")
    assert both.conditions == in_order(parse_line("price<=2 price<=1 region=eu price<3 region!=us").conditions)


@pytest.mark.parametrize(
    ("address", "field", "code", "hint"),
    [
        ("colour=red", "colour", "unknown", "Choices: "),
        ("gpu_modle=t4", "gpu_modle", "unknown", "Did you mean gpu_model?"),
        ("price__let=1", "price__let", "unknown", "Did you mean price__l"),
        ("verified__gt=1", "verified__gt", "unknown", "Did you mean verified"),
        ("x" * 5000 + "=1", "x" * 40, "unknown", "Choices: "),
        ("gpu_model=%00", "gpu_model", "invalid", "Choices: "),
        ("gpu_model=h100", "gpu_model", "invalid", "Use gpu in [h100-pcie,h100-sxm]."),
        ("gpu_count=0", "gpu_count", "invalid", "from 1 to 64"),
        ("gpu_count=1.5", "gpu_count", "invalid", "from 1 to 64"),
        ("gpu_count=1&gpu_count=2", "gpu_count", "invalid", "Remove one"),
        ("gpu_count=1&count__gte=2", "count__gte", "invalid", "Remove one"),
        ("price_max=-1", "price_max", "invalid", "of 0 or more"),
        ("price_max=NaN", "price_max", "invalid", "of 0 or more"),
        ("price_max=1e3", "price_max", "invalid", "of 0 or more"),
        ("price_max=0.0000001", "price_max", "invalid", "of 0 or more"),
        ("price__lt=%EF%BC%91", "price__lt", "invalid", "of 0 or more"),
        ("reliability_min=1.1", "reliability_min", "invalid", "such as 0.99"),
        ("runtime=podman", "runtime", "invalid", "docker, simulated"),
        ("simulated=perhaps", "simulated", "invalid", "true or false"),
        ("region=" + "x" * 41, "region", "invalid", "1 to 40 characters"),
        ("host=rig", "host", "invalid", "host_"),
        ("sort=luck", "sort", "invalid", "Choices: price"),
        ("billing_mode=on-demand", "billing_mode", "invalid", "hourly"),
        ("term=fortnight", "term", "invalid", "day, week"),
        ("data_disk_gb=9999999", "data_disk_gb", "invalid", "from 0 to"),
        ("image=../etc", "image", "invalid", "GET /images"),
        ("image=none-such", "image", "unknown", "no such image"),
        ("limit=0", "limit", "invalid", "from 1 to 200"),
        ("limit=201", "limit", "invalid", "from 1 to 200"),
        ("limit=²", "limit", "invalid", "from 1 to 200"),
        ("cursor=" + "x" * 201, "cursor", "invalid", "unchanged"),
        ("q=count=2&gpu_count=4", "gpu_count", "clash", "The search query sets 2, but gpu_count is 4."),
        ("q=sort=price&sort=-price", "sort", "clash", "Remove one"),
        ("gpu__in=" + ",".join(["t4"] * (LIST_MAX + 1)), "gpu__in", "invalid", f"at most {LIST_MAX} values"),
        ("gpu__in=t4,", "gpu__in", "invalid", "Choices: "),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(address: str, field: str, code: str, hint: str) -> None:
    [(found_field, found_code, detail)] = faults(address)
    assert (found_field, found_code) == (field, code)
    assert hint in detail


def test_several_faults_are_told_together_but_not_endlessly() -> None:
    assert [field for field, _, _ in faults("sort=luck&limit=0&colour=red")] == ["sort", "limit", "colour"]
    assert len(faults("&".join(f"x{n}=1" for n in range(100)))) == 5


def test_a_fault_in_the_line_has_its_place() -> None:
    with pytest.raises(SearchSyntaxError) as caught:
        read("limit=10&q=4090%20prise%3C2")
    assert (caught.value.position, caught.value.hint) == (5, "Did you mean price?")


def test_limits() -> None:
    with pytest.raises(InvalidInput):
        read("&".join(["price__lt=1"] * (VALUES_MAX + 1)))
    with pytest.raises(InvalidInput):
        read("&".join(f"price__lt={n}" for n in range(CONDITIONS_MAX + 1)))
    with pytest.raises(SearchSyntaxError):
        read("q=" + "x" * (LINE_MAX + 1))
    assert "too long" in faults("gpu=" + "x" * 3000)[0][2]


def test_parameters_of_others_are_left_alone() -> None:
    assert read("page=2&gpu_count=2", others=("page",)) == OfferQuery(gpu_count=2)


@pytest.mark.parametrize(
    "address",
    [
        "&".join(f"{'y' * 300}{n}=1" for n in range(VALUES_MAX)),
        "&".join(["gpu_model=" + "z" * 500] * VALUES_MAX),
        "gpu__in=" + ",".join(["zz"] * 40_000),
        "price__lt=" + "9" * 100_000,
        "region__in=" + "," * 100_000,
    ],
)
def test_no_address_takes_long(address: str) -> None:
    params, began = QueryDict(address), time.thread_time()
    with pytest.raises(DomainError):
        parse_params(params, image_needs=needs)
    assert time.thread_time() - began < 0.2
