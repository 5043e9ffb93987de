"""Money, sizes and times as people read them."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django import forms
from pytest_django import Settings

from common.core_counts import core_count, core_count_label
from config import money_tags, tags
from instances.states import INSTANCE_MACHINE


@pytest.mark.parametrize(
    ("micros", "text"),
    [(460_000, "$0.46"), (1_500, "$0.0015"), (26_805_600_000, "$26,805.60"), (0, "$0.00"), (-273_000, "−$0.273")],
)
def test_money_is_exact(micros: int, text: str) -> None:
    assert money_tags.money(micros) == text


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (4_756_789, "$4.76"),
        (693_000, "$0.69"),
        (49, "<$0.01"),
        (-9_999, "−<$0.01"),
        (10_000, "$0.01"),
        (0, "$0.00"),
        (-1_555_000, "−$1.56"),
    ],
)
def test_cost_is_rounded_for_the_eye(micros: int, text: str) -> None:
    assert money_tags.cost(micros) == text


@pytest.mark.parametrize(("code", "text"), [("CNY", "¥1.00"), ("EUR", "€1.00"), ("CHF", "CHF 1.00")])
def test_sign_of_the_market_currency(settings: Settings, code: str, text: str) -> None:
    settings.MARKET_CURRENCY = code
    assert money_tags.money(1_000_000) == text


@pytest.mark.parametrize(("mib", "text"), [(24_576, "24"), (61_440, "60"), (1_536, "1.5"), (0, "0")])
def test_gib(mib: int, text: str) -> None:
    assert tags.gib(mib) == text


@pytest.mark.parametrize(("millis", "text"), [(16_000, "16"), (500, "0.5"), (10_666, "10.7")])
def test_cores(millis: int, text: str) -> None:
    assert core_count(millis) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_725, "1 h 2 min"),
        (7_205, "2 h"),
        (90_061, "1 d 1 h"),
        (2_592_000, "30 d"),
    ],
)
def test_length_of_time(seconds: float, text: str) -> None:
    assert tags.length_of_time(seconds) == text


def test_moment_is_utc_until_the_script_knows_better() -> None:
    shown = tags.moment(datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC), "short")
    assert shown == '<time datetime="2026-05-04T03:02:01Z" data-time="short">2026-05-04 03:02 UTC</time>'
    assert tags.moment(None) == "–"


def test_isoformat_for_the_script() -> None:
    assert tags.isoformat(datetime(2026, 5, 4, 3, 2, 1, 5, tzinfo=UTC)) == "2026-05-04T03:02:01.000005Z"


def test_public_id() -> None:
    assert tags.as_id(UUID(int=1), "inst") == "inst_00000000000000000000000000000001"


def test_icon_is_for_the_eye_alone() -> None:
    assert 'aria-hidden="true"' in tags.icon("server-2")
    assert "icons.svg#server-2" in tags.icon("server-2")


def test_every_state_has_a_colour_and_every_passing_one_words() -> None:
    for state in INSTANCE_MACHINE.table:
        assert tags.state_color(state) == "secondary" or state not in ("stopped", "gone")
        assert tags.is_moving(state) == (tags.state_label(state) != state)


class Example(forms.Form):
    name = forms.CharField(help_text="Any.")
    kind = forms.ChoiceField(choices=[("a", "A")])
    agreed = forms.BooleanField()


def test_styled_field_is_tied_to_its_help_and_errors() -> None:
    shown = tags.styled(Example({"name": ""})["name"])
    assert 'class="form-control is-invalid"' in shown
    assert 'aria-describedby="id_name_help id_name_errors"' in shown


def test_styled_fields_by_kind() -> None:
    form = Example()
    assert 'class="form-select"' in tags.styled(form["kind"])
    assert 'class="form-check-input"' in tags.styled(form["agreed"])
    assert tags.is_check(form["agreed"])
    assert not tags.is_check(form["name"])


def test_words_fall_back_to_the_code() -> None:
    assert tags.kind_label("odd") == "odd"
    assert tags.quote_item("RTX 4090") == "RTX 4090"
    assert tags.get({"a": 1}, "b") == "b"
    assert tags.gpu_name("rtx-4090") == "RTX 4090"
    assert str(tags.host_state_label("online")) == "online"
    assert money_tags.plain_money(460_000) == "0.46"


@pytest.mark.parametrize(
    ("millis", "words"), [(1000, "1 core"), (500, "0.5 cores"), (7500, "7.5 cores"), (16_000, "16 cores")]
)
def test_core_words(millis: int, words: str) -> None:
    assert core_count_label(millis) == words
