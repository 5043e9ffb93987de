"""The API of the market: searches and their faults, facets, prices of one offer, caching, the grammar."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.test import Client
from hypothesis import HealthCheck, given, settings

from accounts.models import User
from accounts.web.throttling import request_counter
from common.ids import public_id
from marketplace.constants import PAGE_SIZE_MAX
from marketplace.models import Host, Offer
from marketplace.search.index.snapshot import reset_snapshot
from marketplace.search.language.fields import TERMS, OfferQuery
from marketplace.search.language.options import OPTIONS
from marketplace.search.language.parser import write_line
from marketplace.web.search.language.query_string import write_params
from storage.images.register import register_image
from tests.marketplace.search.searches import searches
from tests.marketplace.shapes import enrolled, gpu

JSON = "application/json"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    cache.clear()
    request_counter.cache_clear()
    reset_snapshot()
    yield
    reset_snapshot()


def _ask(client: Client, path: str, address: str = "", **headers: str) -> Any:
    return client.get(f"/api/v1/{path}?{address}".removesuffix("?"), headers=headers)


def _get(client: Client, path: str, **params: Any) -> Any:
    reply = _ask(client, path, urlencode(params, doseq=True))
    assert (reply.status_code, reply["Content-Type"]) == (200, JSON), reply.content
    return reply.json()


def _names(body: Any) -> list[str]:
    return [shown["host"]["name"] for shown in body["results"]]


@pytest.fixture
def market(hana: User) -> dict[str, Host]:
    """Three hosts that differ in everything that matters."""
    return {
        "big": enrolled(hana, 4, name="big", region="eu", price=2_000_000),
        "small": enrolled(hana, [gpu("Tesla T4", 15_360)], name="small", region="us", price=500_000, cuda="11.4"),
        "play": enrolled(hana, [gpu("Tesla T4", 15_360, simulated=True)] * 1, name="play", region="cn-north", price=100_000),
    }


def test_an_offer_has_the_documented_shape_and_invents_nothing(client: Client, host: Host, offer: Offer) -> None:
    body = _get(client, "offers")
    assert {name: body[name] for name in ("next", "previous", "total", "hidden_by_image")} == {
        "next": None,
        "previous": None,
        "total": 1,
        "hidden_by_image": 0,
    }
    [shown] = body["results"]
    assert shown == _get(client, f"offers/{shown['id']}")
    assert shown == {
        "id": public_id("offr", offer.pk),
        "host": {
            "id": public_id("host", host.pk),
            "name": "rig",
            "region": "eu",
            "verified": False,
            "runtime": "docker",
            "simulated": False,
            "state": "online",
            "cpu_model": "EPYC",
        },
        "gpu": {
            "model": "RTX 4090",
            "slug": "rtx-4090",
            "series": "GeForce",
            "architecture": "Ada",
            "vram_gb": 24,
            "fp16_tflops": 165.0,
            "fp32_tflops": 82.6,
            "nvlink": False,
            "pcie": {"gen": None, "width": None},
        },
        "gpu_free": 2,
        "gpu_spot": 0,
        "gpu_total": 2,
        "per_gpu": {"cpu_cores": 16.0, "ram_gb": 60.0},
        "disk": {
            "kind": "nvme",
            "read_mbps": None,
            "write_mbps": None,
            "free_gb": 1500,
            "measured_at": None,
            "samples": 0,
        },
        "system_disk_gb": None,
        "network": {"up_mbps": None, "down_mbps": None, "measured_at": None, "samples": 0},
        "cuda": "12.4",
        "driver": "550.54",
        "reliability": None,
        "max_lease_hours": None,
        "listed_until": None,
        "prices": {
            "hourly": "2.00",
            "reserved": {"day": None, "week": None, "month": None, "year": None, "year3": None},
            "tiers": [{"from_hours": 720, "unit_price": "1.70"}],
            "spot": {"floor": None, "now": None},
            "disk_gb_day": "0.0033",
            "free_disk_gb": 50,
            "hold_hourly": "1.00",
        },
        "price": "2.00",
        "total": "2.00",
        "value": 82.5,
        "version": offer.version,
    }


def test_pages_lead_to_each_other(client: Client, hana: User) -> None:
    for n in range(5):
        enrolled(hana, [gpu("Tesla T4", 15_360)] * 1, name=f"t4-{n}", region="us", price=500_000)
    enrolled(hana, 4, name="big")
    seen, address = [], "/api/v1/offers?gpu_model=t4&gpu_model=a100&region=us&region=eu&limit=2&sort=-price"
    addresses = []
    while address:
        addresses.append(address)
        page = client.get(address).json()
        assert page["total"] == 5
        seen += _names(page)
        address = page["next"]
    assert sorted(seen) == [f"t4-{n}" for n in range(5)]
    assert addresses[1].startswith("http://testserver/api/v1/offers?gpu_model=t4&gpu_model=a100&region=us")
    assert _names(client.get(page["previous"]).json()) == seen[2:4]


def test_filters_by_name_by_operator_and_by_line(client: Client, market: dict[str, Host]) -> None:
    for address in ("gpu_count=4", "count__gte=4", "q=count%3E%3D4", "gpu_model=4090", "total__lt=10&gpu_count=3"):
        assert _names(_ask(client, "offers", address).json()) == ["big"], address
    assert _names(_get(client, "offers", price_max="0.50")) == ["play", "small"]
    assert _names(_get(client, "offers", price__lt="0.50")) == ["play"]
    assert _names(_get(client, "offers", region=["us", "eu"], sort="-price")) == ["big", "small"]
    assert _names(_get(client, "offers", region__notin="us,eu")) == ["play"]
    assert _names(_get(client, "offers", q="t4 not simulated")) == ["small"]
    assert _names(_get(client, "offers", q="not simulated", vram_gb_min=24)) == ["big"]
    assert _get(client, "offers", q="nvlink")["results"] == []


def test_wishes_enter_the_prices(client: Client, offer: Offer) -> None:
    Offer.objects.filter(pk=offer.pk).update(disk_micros_gb_day=24_000, reserved_discounts={"month": 2_500})
    wishes = {"gpu_count": 2, "data_disk_gb": 150, "billing_mode": "reserved", "term": "month"}
    [shown] = _get(client, "offers", **wishes)["results"]
    assert (shown["price"], shown["total"]) == ("1.55", "3.10")
    assert _get(client, f"offers/{shown['id']}", **wishes) == shown
    assert _get(client, "offers/compare", ids=shown["id"], **wishes) == {"results": [shown]}
    assert _get(client, "offers", **{**wishes, "term": "year"})["results"] == []
    unsold = _get(client, f"offers/{shown['id']}", **{**wishes, "term": "year"})
    assert (unsold["price"], unsold["total"], unsold["value"]) == (None, None, None)


def test_an_image_hides_hosts_that_cannot_run_it_and_says_how_many(client: Client, market: dict[str, Host]) -> None:
    register_image(slug="new-cuda", title="New", reference="new:1", cuda="12.1")
    body = _get(client, "offers", image="new-cuda", q="gpu_total<9")
    assert (_names(body), body["total"], body["hidden_by_image"]) == (["play", "big"], 2, 1)
    assert _get(client, "offers", q="image=new-cuda region=us")["hidden_by_image"] == 1
    found = _get(client, "offers/facets", image="new-cuda", region="us")
    assert (found["total"], found["hidden_by_image"]) == (0, 1)
    assert {each["filter"]: each["left_without"] for each in found["removed"]} == {"image=new-cuda": 1, "region=us": 2}
    reply = _ask(client, "offers", "image=none-such")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "image")


def test_facets_count_every_choice_and_say_why_nothing_is_left(client: Client, market: dict[str, Host]) -> None:
    found = _get(client, "offers/facets", region="us")
    assert found["total"] == 1
    assert found["region"] == [
        {"value": "cn-north", "label": "cn-north", "count": 1, "price_min": "0.10"},
        {"value": "eu", "label": "eu", "count": 1, "price_min": "2.00"},
        {"value": "us", "label": "us", "count": 1, "price_min": "0.50"},
    ]
    assert found["gpu_model"] == [{"value": "t4", "label": "T4", "count": 1, "price_min": "0.50"}]
    assert found["disk_kind"] == [{"value": "nvme", "label": "nvme", "count": 1, "price_min": "0.50"}]
    assert [choice["count"] for choice in found["gpu_count"]] == [1, 0, 0, 0]
    nothing = _get(client, "offers/facets", region="us", gpu_model="rtx-4090", price__lt="1", gpu_count=2)
    assert nothing["total"] == 0
    assert {each["filter"]: each["removes"] for each in nothing["removed"]} == {
        "count=2": 0,
        "gpu=rtx-4090": 0,
        "region=us": 0,
        "price<1": 0,
    }
    why = _get(client, "offers/facets", region="us", gpu_model="rtx-4090")
    for each in why["removed"]:
        without = {"region=us": "gpu_model=rtx-4090", "gpu=rtx-4090": "region=us"}[each["filter"]]
        assert each["left_without"] == _ask(client, "offers", without).json()["total"]
        assert _ask(client, "offers", each["parameter"]).status_code == 200


def test_every_value_of_a_facet_is_a_filter_that_leaves_its_count(client: Client, market: dict[str, Host]) -> None:
    found = _get(client, "offers/facets")
    for name, choices in found.items():
        if isinstance(choices, list) and name != "removed":
            for choice in choices:
                value = json.dumps(choice["value"]) if isinstance(choice["value"], bool) else choice["value"]
                assert _get(client, "offers", **{name: value})["total"] == choice["count"], (name, choice)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=searches())
def test_a_line_and_an_address_find_the_same(client: Client, market: dict[str, Host], query: OfferQuery) -> None:
    query = OfferQuery(**{**query.__dict__, "image": ""})
    by_line = _get(client, "offers", q=write_line(query))
    assert by_line == _ask(client, "offers", write_params(query)).json()
    assert by_line["total"] == _get(client, "offers/facets", q=write_line(query))["total"]


@pytest.mark.parametrize("path", ["offers", "offers/facets"])
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        (f"limit={PAGE_SIZE_MAX + 1}", "limit"),
        ("cursor=" + "x" * 5000, "cursor"),
        ("gpu_count=0", "gpu_count"),
        ("gpu_count=many", "gpu_count"),
        ("price_max=-1", "price_max"),
        ("price_max=NaN", "price_max"),
        ("price_max=1e3", "price_max"),
        ("price_max=0.0000001", "price_max"),
        ("runtime=podman", "runtime"),
        ("simulated=perhaps", "simulated"),
        ("sort=luck", "sort"),
        ("gpu_model=%00", "gpu_model"),
        ("colour=red", "colour"),
        ("q=count=2&gpu_count=3", "gpu_count"),
    ],
)
@pytest.mark.django_db
def test_filters_that_make_no_sense_are_refused_with_a_hint(client: Client, path: str, query: str, field: str) -> None:
    reply = _ask(client, path, query)
    problem = reply.json()
    assert (reply.status_code, reply["Content-Type"]) == (400, "application/problem+json")
    assert problem["code"] == "invalid_input"
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0]["detail"]


@pytest.mark.django_db
def test_a_cursor_of_another_list_is_refused(client: Client) -> None:
    reply = _ask(client, "offers", "cursor=nonsense")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "cursor")


@pytest.mark.django_db
def test_a_fault_in_the_line_tells_its_place(client: Client) -> None:
    reply = _ask(client, "offers", urlencode({"q": "4090 prise<2"}))
    problem = reply.json()
    assert (reply.status_code, problem["code"], problem["position"]) == (400, "search_syntax", 5)
    assert problem["hint"] == "Did you mean price?"
    assert "price" in problem["choices"]
    assert problem["errors"][0]["field"] == "q"


def test_one_offer_takes_no_filter(client: Client, offer: Offer) -> None:
    key = public_id("offr", offer.pk)
    reply = _ask(client, f"offers/{key}", "gpu_cuont=2&region=eu")
    assert reply.status_code == 400
    assert [(each["field"], each["code"]) for each in reply.json()["errors"]] == [
        ("gpu_cuont", "unknown"),
        ("region", "unknown"),
    ]
    assert "gpu_count" in reply.json()["errors"][0]["detail"]


def test_a_closed_offer_is_still_shown(client: Client, offer: Offer) -> None:
    Offer.objects.filter(pk=offer.pk).update(gpu_free=0)
    assert _get(client, "offers")["results"] == []
    assert _get(client, f"offers/{public_id('offr', offer.pk)}")["gpu_free"] == 0


def test_comparing_keeps_the_order_asked_for(client: Client, market: dict[str, Host]) -> None:
    ids = [shown["id"] for shown in _get(client, "offers", sort="-price")["results"]]
    assert _names(_get(client, "offers/compare", ids=",".join(ids))) == ["big", "small", "play"]
    assert _names(_ask(client, "offers/compare", f"ids={ids[2]}&ids={ids[0]}").json()) == ["play", "big"]
    gone = "offr_" + "0" * 32
    assert _names(_get(client, "offers/compare", ids=f"{gone},{ids[1]},{ids[1]}")) == ["small"]
    for wrong in ("", ",".join([*ids, gone, gone]), "x", "inst_" + "0" * 32):
        reply = _ask(client, "offers/compare", f"ids={wrong}")
        assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "ids")


@pytest.mark.parametrize("key", ["offr_" + "0" * 32, "offr_x", "inst_" + "0" * 32, "1"])
@pytest.mark.django_db
def test_unknown_offers(client: Client, key: str) -> None:
    reply = _ask(client, f"offers/{key}")
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


@pytest.mark.django_db
def test_the_grammar_is_told(client: Client) -> None:
    terms = _get(client, "search-terms")
    assert [row["name"] for row in terms["terms"]] == list(TERMS)
    assert [row["name"] for row in terms["wishes"]] == list(OPTIONS)
    assert _ask(client, "offers", urlencode({"q": terms["example"]})).status_code == 200
    for row in terms["terms"]:
        assert {"name", "kind", "unit", "ops", "parameters", "units", "choices", "about"} == set(row)
        assert row["about"]
        for choice in row["choices"][:3]:
            assert _ask(client, "offers", urlencode({"q": f'{row["name"]}="{choice}"'})).status_code == 200
        for name in row["parameters"]:
            sample = {"flag": "true", "version": "12.4", "choice": (row["choices"] or ["x"])[0]}.get(row["kind"], "1")
            sample = "host_" + "0" * 32 if row["name"] == "host" else sample
            assert _ask(client, "offers", urlencode({name: sample})).status_code == 200, name


@pytest.mark.django_db
def test_the_contract_names_every_parameter(client: Client) -> None:
    document = _get(client, "openapi.json")
    terms = _get(client, "search-terms")
    for path in ("/api/v1/offers", "/api/v1/offers/facets"):
        named = {each["name"]: each for each in document["paths"][path]["get"]["parameters"]}
        for row in [*terms["terms"], *terms["wishes"]]:
            assert set(row["parameters"]) <= set(named)
        assert {"q", "limit", "cursor"} <= set(named)
        assert named["price_max"]["description"]
        assert named["gpu_model"]["schema"]["type"] == "array"
