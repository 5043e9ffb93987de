"""Sentences as data: each is kept and read whole, said in both languages, and takes nothing that it should not."""

import dataclasses
import enum
import json
import re
import typing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import time_machine
from django.utils.html import strip_tags
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from common.messages.message import (
    LARGEST,
    LONGEST_TEXT,
    About,
    Change,
    English,
    HostSays,
    MalformedParameter,
    Message,
    Micros,
    Name,
    Parts,
    Quoted,
    Second,
    Share,
    every_message,
    of_row,
    read,
    stored,
)
from common.messages.rendering import english, in_html, in_mail, plain
from instances.core.event_messages import AlertOver, NoSchedule, StopAt, StopIdle, Weekly
from instances.core.money_messages import Interruption, TooLittle
from instances.models import Alert

AT = datetime(2025, 11, 30, 16, 54, 30, tzinfo=UTC)
HOSTILE = ["<b>x</b>", "%(at)s %s %%", "{at!r}", "“quoted” ”", "\u202eevil\u202c", "\x1b[31m", "a" * 5_000, "'\"&", "تم رد"]
_WORD = re.compile(r"[A-Za-z]{4,}")


def value_of(kind: Any, text: str, number: int) -> Any:
    """Some value of a parameter's kind."""
    if kind in (str, Quoted):
        return text
    if kind in (int, Micros, Share):
        return number
    if kind in (datetime, Second):
        return AT
    if kind == tuple[Message, ...]:
        return (NoSchedule(), StopAt(at=AT))
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    return HostSays(words=Quoted(text)) if kind is HostSays else NoSchedule()


def made(form: type[Message], text: str = "x-1", number: int = 2) -> Message:
    return form(**{name: value_of(kind, text, number) for name, kind in form.kinds.items()})


FORMS = sorted(every_message().values(), key=lambda form: form.code)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.code)
def test_each_message_comes_back_as_it_was_and_is_said_in_both_languages(form: type[Message]) -> None:
    message = made(form)
    assert read(json.loads(json.dumps(stored(message)))) == message
    with override("en"):
        words = plain(message)
        assert words == english(message)
        assert "%(" not in words
        assert strip_tags(in_html(message)).replace("&#x27;", "'") == words
        assert in_mail(message)
    if form in (English, Name, Change, About):
        return
    with override("zh-hans"):
        translated = plain(message)
    assert "%(" not in translated
    left = _WORD.sub(lambda found: "" if found[0] in ("Agent", "Berth", "Asia") else found[0], translated)
    assert not _WORD.search(left.replace("x-1", "")), translated


@given(text=st.text(max_size=400), number=st.integers(-(2**53), 2**53))
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.code)
def test_whatever_stands_in_a_parameter_is_bounded_and_kept(form: type[Message], text: str, number: int) -> None:
    message = made(form, text, number)
    kept = stored(message)
    assert read(kept) == message
    assert len(json.dumps(kept, ensure_ascii=False).encode()) <= LARGEST
    for language in ("en", "zh-hans"):
        with override(language):
            shown = in_html(message)
            assert not set(str(shown)) & set("\u202e\x1b\x00")
    assert len(english(message)) <= LONGEST_TEXT


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_markup_and_forms_in_parameters_are_text(text: str, language: str) -> None:
    with override(language):
        for message in (Name(name=text), HostSays(words=Quoted(text)), About(name=text, what=HostSays(words=Quoted(text)))):
            shown = str(in_html(message))
            assert "<b>" not in shown
            assert "\u202e" not in shown
            assert shown.count("”") <= 1 + (text.count("”") if not isinstance(message, HostSays) else 0)


def test_a_wrong_parameter_is_an_error_where_the_message_is_made() -> None:
    with pytest.raises(TypeError):
        StopIdle(percent=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        NoSchedule(at=AT)  # type: ignore[call-arg]
    for wrong in ("5", True, 2**54, None, 1.5):
        with pytest.raises(MalformedParameter):
            StopIdle(percent=wrong, minutes=1)  # type: ignore[arg-type]
    with pytest.raises(MalformedParameter):
        StopAt(at=datetime(2025, 1, 1))  # noqa: DTZ001  (that is the point)
    with pytest.raises(MalformedParameter):
        Parts(parts=())
    with pytest.raises(ValueError, match="nothing"):
        AlertOver(alert="nothing")  # type: ignore[arg-type]
    with pytest.raises(TypeError):

        class Again(Message, code="no_schedule", text="Again"):
            pass


def test_nesting_has_an_end() -> None:
    message: Message = NoSchedule()
    for _ in range(2):
        message = About(name="x", what=message)
    assert read(stored(message)) == message
    with pytest.raises(MalformedParameter):
        stored(About(name="x", what=message))


@pytest.mark.parametrize(
    "kept",
    [
        *(None, 3, "text", [], {}, {"code": "stop_at"}, {"code": "of_tomorrow", "params": {}}),
        *({"code": ["stop_at"], "params": {}}, {"code": "stop_at", "params": {}}, {"code": "stop_at", "params": {"at": 5}}),
        *({"code": "stop_at", "params": {"at": "tomorrow"}}, {"code": "stop_at", "params": {"at": None}}),
        {"code": "stop_at", "params": {"at": "2025-11-30T16:54:00Z", "more": 1}},
        {"code": "alert_over", "params": {"alert": "of_tomorrow"}},
        {"code": "parts", "params": {"parts": [{"code": "parts", "params": {"parts": "x"}}]}},
        {"code": "stop_idle", "params": {"percent": {"a": 1}, "minutes": 1}},
    ],
)
def test_what_is_no_message_is_read_as_none(kept: Any) -> None:
    assert read(kept) is None


def test_times_and_amounts_are_said_in_the_reader_s_way() -> None:
    schedule = Parts(parts=(StopAt(at=AT), Weekly(count=1, zone="Asia/Shanghai")))
    with override("en"):
        assert plain(StopAt(at=datetime(2001, 1, 2, 3, 4, tzinfo=UTC))) == "Stop at 2 Jan 2001 03:04 UTC"
        assert "16:54:30" in plain(Interruption(at=Second(AT)))
        assert plain(schedule).endswith("1 weekly entry (Asia/Shanghai)")
        little = TooLittle(needed=Micros(3_060_000), spendable=Micros(10_000))
        assert plain(little) == "You need $3.06; available: $0.01."
    with override("zh-hans"):
        assert plain(StopAt(at=datetime(2001, 1, 2, 3, 4, tzinfo=UTC))) == "2001年1月2日 03:04（UTC） 关机"
        assert plain(AlertOver(alert=Alert.Kind.GPU_IDLE)).endswith("已恢复")
        assert '<time datetime="2025-11-30T16:54:30Z" data-time="short">' in in_html(StopAt(at=AT))
    elsewhere = AT.astimezone(timezone(timedelta(hours=8)))
    assert StopAt(at=elsewhere) == StopAt(at=AT)


def test_the_day_of_this_year_goes_without_its_year() -> None:
    with time_machine.travel(AT, tick=False), override("en"):
        assert plain(StopAt(at=AT)) == "Stop at 30 Nov 16:54 UTC"
    with time_machine.travel(AT, tick=False), override("zh-hans"):
        assert plain(StopAt(at=AT)) == "11月30日 16:54（UTC） 关机"


def test_a_row_of_before_keeps_its_text() -> None:
    message = of_row(None, "Disk full: <none> left.")
    assert message == English(sentence="Disk full: <none> left.")
    with override("zh-hans"):
        assert in_html(message) == '<span lang="en">Disk full: &lt;none&gt; left.</span>'
    quoted = of_row(None, "to s3: The host says: “no room”")
    assert quoted is not None
    with override("zh-hans"):
        assert in_html(quoted) == '<span lang="en">to s3: </span>主机称：“<bdi>no room</bdi>”'
    assert of_row(None, "") is None
    assert of_row(NoSchedule(), "whatever") == NoSchedule()


def test_every_parameter_has_a_kind_that_is_checked() -> None:
    known = {str, int, datetime, Micros, Second, Share, Quoted, tuple[Message, ...]}
    for form in FORMS:
        assert {field.name for field in dataclasses.fields(form)} == set(form.kinds)  # type: ignore[arg-type]
        for kind in form.kinds.values():
            nested = isinstance(kind, type) and typing.get_origin(kind) is None and issubclass(kind, (Message, enum.Enum))
            assert kind in known or nested, (form, kind)
