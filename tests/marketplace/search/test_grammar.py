"""The search line: what it means, how it is written, and what it says of a fault."""

import contextlib
import time
from decimal import Decimal
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext
from hypothesis import example, given
from hypothesis import strategies as st

from marketplace.errors import SearchSyntaxError
from marketplace.search.language.fields import TERMS, Condition, Kind, OfferQuery, Op
from marketplace.search.language.options import CONDITIONS_MAX, LIST_MAX
from marketplace.search.language.parser import LINE_MAX, parse_line, write_line
from tests.marketplace.search.searches import conditions, searches


def only(line: str) -> Condition:
    [one] = parse_line(line).conditions
    return one


def refusal(line: str) -> SearchSyntaxError:
    with pytest.raises(SearchSyntaxError) as caught:
        parse_line(line)
    assert 0 <= caught.value.position <= len(line)
    assert caught.value.hint
    assert (caught.value.status, caught.value.code) == (400, "search_syntax")
    return caught.value


def test_the_example_of_the_documents() -> None:
    query = parse_line("gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5")
    assert query == OfferQuery(
        conditions=(
            Condition("gpu", Op.EQ, "rtx-3090"),
            Condition("region", Op.IN, ("cn-north", "eu-west")),
            Condition("price", Op.LT, Decimal("1.5")),
        ),
        gpu_count=2,
    )
    assert write_line(query) == "count=2 gpu=rtx-3090 region in [cn-north,eu-west] price<1.5"


def test_nothing_asks_for_nothing() -> None:
    assert parse_line("") == parse_line("  , \t") == OfferQuery()
    assert write_line(OfferQuery()) == ""


@given(query=searches())
def test_what_is_written_is_read_back(query: OfferQuery) -> None:
    assert parse_line(write_line(query)) == query


@pytest.mark.parametrize("name", TERMS)
def test_each_term_is_written_and_read_back(name: str) -> None:
    @given(one=conditions(TERMS[name]))
    def check(one: Condition) -> None:
        assert parse_line(write_line(OfferQuery(conditions=(one,)))).conditions == (one,)

    check()


@given(line=st.text(max_size=60))
@example(line="not")
@example(line="gpu")
@example(line='"')
@example(line="[")
@example(line="gpu in")
@example(line="price<1 GB")
def test_any_text_is_read_or_refused_with_a_place(line: str) -> None:
    try:
        query = parse_line(line)
    except SearchSyntaxError as fault:
        assert 0 <= fault.position <= len(line)
        assert fault.hint
    else:
        assert parse_line(write_line(query)) == query


_PIECES = st.sampled_from(
    [*TERMS, "mode", "sort", "=", "<", "in", "not", "[", "]", ",", '"', "4090", "1.5", "GB", " ", "and", "or"]
)


@given(line=st.lists(_PIECES, max_size=12).map("".join))
def test_any_mixture_of_right_words_is_read_or_refused_with_a_place(line: str) -> None:
    test_any_text_is_read_or_refused_with_a_place.hypothesis.inner_test(line)  # type: ignore[attr-defined]  # set by given


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("4090", Condition("gpu", Op.EQ, "rtx-4090")),
        ("RTX3090ti", Condition("gpu", Op.EQ, "rtx-3090-ti")),
        ('"NVIDIA GeForce RTX 4090"', Condition("gpu", Op.EQ, "rtx-4090")),
        ("gpu=a100", Condition("gpu", Op.EQ, "a100")),
        ('gpu="RTX 3090"', Condition("gpu", Op.EQ, "rtx-3090")),
        ("gpu=rtx-4090-d", Condition("gpu", Op.EQ, "rtx-4090-d")),
        ("geforce", Condition("series", Op.EQ, "GeForce")),
        ("series=nvidia-rtx", Condition("series", Op.EQ, "NVIDIA RTX")),
        ("not hopper", Condition("architecture", Op.NE, "Hopper")),
        ("verified", Condition("verified", Op.EQ, True)),
        ("not simulated", Condition("simulated", Op.EQ, False)),
        ("simulated!=true", Condition("simulated", Op.EQ, False)),
        ("NVLINK = yes", Condition("nvlink", Op.EQ, True)),
        ("vram >= 24GB", Condition("vram", Op.GE, Decimal(24))),
        ("vram>=24 GB", Condition("vram", Op.GE, Decimal(24))),
        ("ram>=1TB", Condition("ram", Op.GE, Decimal(1024))),
        ("disk_free>2TB", Condition("disk_free", Op.GT, Decimal(2000))),
        ("price<1.5/h", Condition("price", Op.LT, Decimal("1.5"))),
        ("price<.5", Condition("price", Op.LT, Decimal("0.5"))),
        ("reliability>=99.5%", Condition("reliability", Op.GE, Decimal("0.995"))),
        ("lease_hours>=30d", Condition("lease_hours", Op.GE, Decimal(720))),
        ("lease_hours>=1 year", Condition("lease_hours", Op.GE, Decimal(8760))),
        ("net_down>=1Gbit/s", Condition("net_down", Op.GE, Decimal(1000))),
        ("disk_read>=2.5GB/s", Condition("disk_read", Op.GE, Decimal(2500))),
        ("fp16>=1 PFLOPS", Condition("fp16", Op.GE, Decimal(1000))),
        ("cuda>=012.4", Condition("cuda", Op.GE, "12.4")),
        ("cuda==12.4", Condition("cuda", Op.EQ, "12.4")),
        ("disk=NVMe", Condition("disk", Op.EQ, "nvme")),
        ("region in (b, a, b)", Condition("region", Op.IN, ("a", "b"))),
        ("region in [a]", Condition("region", Op.EQ, "a")),
        ("region notin [a b]", Condition("region", Op.NOT_IN, ("a", "b"))),
        ("region not in ['a b','it\\'s']", Condition("region", Op.NOT_IN, ("a b", "it's"))),
        ("count<=4", Condition("count", Op.LE, Decimal(4))),
        ("count in [4]", Condition("count", Op.IN, (Decimal(4),))),
    ],
)
def test_conditions(line: str, wanted: Condition) -> None:
    assert only(line) == wanted
    assert only(write_line(OfferQuery(conditions=(wanted,)))) == wanted


@pytest.mark.parametrize(
    ("line", "wished"),
    [
        ("count=2", {"gpu_count": 2}),
        ("count>1", {"gpu_count": 2}),
        ("gpu_count>=8 gpus", {"gpu_count": 8}),
        ("mode=Spot", {"billing_mode": "spot"}),
        ("billing_mode=reserved term=year3", {"billing_mode": "reserved", "term": "year3"}),
        ("data_disk=2TB", {"data_disk_gb": 2000}),
        ("image=berth-base sort=-value", {"image": "berth-base", "sort": "-value"}),
        ("count=2 gpu=t4", {"gpu_count": 2, "conditions": (Condition("gpu", Op.EQ, "t4"),)}),
    ],
)
def test_wishes(line: str, wished: dict[str, Any]) -> None:
    assert parse_line(line) == OfferQuery(**wished)


def test_parts_may_be_joined_by_and_and_commas_and_come_in_any_order() -> None:
    wanted = parse_line("4090 price<2 verified")
    assert wanted == parse_line("verified and price<2, gpu=rtx-4090 and 4090") == parse_line("VERIFIED,PRICE < 2,4090,")


@pytest.mark.parametrize(
    ("line", "position", "hint"),
    [
        ("prise<2", 0, "Did you mean price?"),
        ("4090 prise<2", 5, "Did you mean price?"),
        ("verfied", 0, "Did you mean verified?"),
        ("rtx-3990", 0, "Did you mean rtx-3090?"),
        ("h100", 0, "Use gpu in [h100-pcie,h100-sxm]."),
        ("gpu in [a100, h100]", 14, "Use gpu in [h100-pcie,h100-sxm]."),
        ("disk=nvm", 5, "Did you mean nvme?"),
        ("mode=spto", 5, "Did you mean spot?"),
        ("sort=cheap", 5, "Choices: price, -price"),
        ("nvlink>1", 6, "Operators: =, !=, in, notin."),
        ("mode!=spot", 4, "Operators: =."),
        ("price", 5, "Operators: =, !=, <"),
        ("price ! 2", 6, "Operators:"),
        ("price<", 6, "Enter a value of price"),
        ("price<-1", 6, "Enter a number of 0 or more"),
        ("price<1.2345678", 6, "Enter a number of 0 or more"),
        ("vram>24MHz", 5, "optionally with a unit: g, gb"),
        ("reliability>=99", 13, "such as 0.99"),
        ("cuda>=twelve", 6, "Enter a version, such as 12.4."),
        ("count=0", 6, "Enter a whole number from 1 to 64."),
        ("count=2 count=4", 8, "Remove one of them."),
        ("gpu=[t4,l4]", 4, "Use gpu in [a, b]."),
        ("gpu in t4", 7, "Use brackets"),
        ("gpu in [t4", 7, "Close it with ]."),
        ("gpu in []", 7, "Enter at least one value"),
        ('region="eu', 7, 'Close it with ".'),
        ("t4 or l4", 3, "To match one of several, use a list"),
        ("not price<1", 0, "Use the opposite operator"),
        ("verified=perhaps", 9, "Enter true or false."),
        ("host=rig", 5, "Enter host_ and 32"),
        ("上海 t4", 0, "Enter a field, an operator and a value."),
        ("t4 & l4", 3, "Enter a field, an operator and a value."),
        ("=5", 0, "Enter a field, such as gpu"),
        ("x" * (LINE_MAX + 1), LINE_MAX, f"at most {LINE_MAX} characters"),
        ("price<1 " * (CONDITIONS_MAX + 1), 8 * CONDITIONS_MAX, f"at most {CONDITIONS_MAX} conditions"),
        ("vram in [" + "1," * (LIST_MAX + 1) + "]", 9 + 2 * LIST_MAX, f"at most {LIST_MAX} values"),
    ],
)
def test_faults_have_a_place_and_a_hint(line: str, position: int, hint: str) -> None:
    fault = refusal(line)
    assert fault.position == position
    assert hint in fault.hint


def test_positions_count_code_points() -> None:
    assert refusal("region=上海😀 prise<2").position == len("region=上海😀 ")


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("mode=x", ("hourly", "reserved", "tiered", "spot")),
        ("runtime=podman", ("docker", "simulated")),
        ("simulated=perhaps", ("true", "false")),
        ("verified<1", ("=", "!=", "in", "notin")),
        ("h100", ("h100-pcie", "h100-sxm")),
    ],
)
def test_faults_list_the_choices(line: str, choices: tuple[str, ...]) -> None:
    fault = refusal(line)
    assert fault.choices == choices
    assert fault.extra["choices"] == list(choices)
    assert fault.extra["position"] == fault.position


def test_every_flag_stands_alone() -> None:
    for name in (name for name, term in TERMS.items() if term.kind is Kind.FLAG):
        assert only(name) == Condition(name, Op.EQ, True)


@pytest.mark.parametrize(
    "line",
    [
        "x" * LINE_MAX,
        '"' + "\\" * (LINE_MAX - 1),
        '"' + "a\\" * 249,
        "[" * LINE_MAX,
        " " * LINE_MAX,
        "4090 " * 30 + "y" * 300,
        "vram>" + "9" * 400,
        "vram>" + "1" * 9 + "." + "1" * 400,
        "not " * 125,
        "gpu in [" + "zz," * 150,
        "a" * 499 + "=",
        "t4 " * 29 + "not" + " " * 300 + "in",
    ],
)
def test_no_line_takes_long(line: str) -> None:
    began = time.thread_time()  # the machine may have other things to do
    with contextlib.suppress(SearchSyntaxError):
        parse_line(line)
    assert time.thread_time() - began < 0.1


def test_faults_speak_the_language_of_the_page() -> None:
    with translation.override("zh-hans"):
        assert refusal("prise<2").hint == gettext("Did you mean %(choice)s?") % {"choice": "price"}
