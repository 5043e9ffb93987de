"""The filter panel: which conditions it can show, what it counts, and that nothing gets lost."""

from decimal import Decimal

import pytest
from django.http import QueryDict

from marketplace.pricing.offer_requirements import NO_IMAGE, ImageNeeds
from marketplace.search.index.facets import FacetChoice
from marketplace.search.language.fields import Condition, Op
from marketplace.web.search.filter_panel import SECTIONS, THRESHOLDS, Filled, Panel, fill_panel
from marketplace.web.search.language.query_string import NAMES, parse_params


def _fields(panel: Panel) -> dict[str, Filled]:
    return {each.name: each for section in panel.sections for each in section.fields}


def _no_image(_image: str) -> ImageNeeds:
    return NO_IMAGE


def test_every_field_is_a_parameter_of_the_search() -> None:
    names = [each.name for section in SECTIONS for each in section.fields]
    assert set(names) <= set(NAMES)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("condition", THRESHOLDS, ids=lambda each: f"{each.term}-{each.value}")
def test_every_preset_reads_back_as_itself(condition: Condition) -> None:
    panel = fill_panel([condition], {}, {condition: 3})
    [field] = [each for each in _fields(panel).values() if each.in_use]
    [choice] = [each for each in field.choices if each.chosen]
    assert choice.count == 3
    read = parse_params(QueryDict(f"{field.name}={choice.value}"), image_needs=_no_image)
    assert read.conditions == (condition,)


def test_one_value_and_a_list_are_both_boxes() -> None:
    for condition in (Condition("region", Op.EQ, "eu"), Condition("region", Op.IN, ("eu", "us"))):
        field = _fields(fill_panel([condition], {}, {}))["region"]
        assert [each.value for each in field.choices if each.chosen] == ["eu", "us"][: len(field.choices)]


def test_chosen_values_that_leave_nothing_stay_in_sight() -> None:
    counted = {"region": [FacetChoice("us", "us", 4, 100)]}
    field = _fields(fill_panel([Condition("region", Op.EQ, "eu")], counted, {}))["region"]
    assert [(each.value, each.count, each.chosen) for each in field.choices] == [("us", 4, False), ("eu", 0, True)]


@pytest.mark.parametrize(
    "condition",
    [
        Condition("vram", Op.LT, Decimal(24)),
        Condition("verified", Op.EQ, False),
        Condition("region", Op.NOT_IN, ("eu", "us")),
        Condition("fp16", Op.GE, Decimal(100)),
        Condition("count", Op.LE, Decimal(4)),
    ],
)
def test_what_no_field_can_show_travels_along(condition: Condition) -> None:
    panel = fill_panel([condition], {}, {})
    assert panel.rest == (condition,)
    assert panel.in_use == 0


def test_a_second_condition_of_the_same_kind_travels_along() -> None:
    both = [Condition("vram", Op.GE, Decimal(24)), Condition("vram", Op.GE, Decimal(48))]
    panel = fill_panel(both, {}, {})
    assert panel.rest == (both[1],)


def test_levels_count_everything_from_them_on() -> None:
    counted = {"cuda": [FacetChoice("12.4", "12.4", 5, None), FacetChoice("9.0", "9.0", 2, None)]}
    field = _fields(fill_panel([], counted, {}))["cuda_min"]
    assert [(each.value, each.count) for each in field.choices] == [("9.0", 7), ("12.4", 5)]


def test_long_lists_are_folded_but_for_what_is_chosen() -> None:
    counted = {"gpu": [FacetChoice(f"x-{number}", f"x-{number}", 1, None) for number in range(20)]}
    field = _fields(fill_panel([Condition("gpu", Op.EQ, "x-15")], counted, {}))["gpu_model"]
    assert [each.value for each in field.shown][-1] == "x-15"
    assert (len(field.shown), len(field.folded)) == (11, 9)


def test_sections_open_when_they_are_used() -> None:
    panel = fill_panel([Condition("net_up", Op.GE, Decimal(100))], {}, {})
    assert {section.section.slug: section.is_open for section in panel.sections} == {
        **{"gpu": True, "price": True, "region": True, "trust": True},
        **{"machine": False, "disk": False, "network": True},
    }
