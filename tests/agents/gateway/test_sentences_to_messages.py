"""An upgrade of rows that were written as English sentences: the known ones become data, all others keep their text."""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils.translation import override

from agents.gateway.legacy_agent_messages import SAID_BEFORE
from common.messages.message import About, English, HostSays, Message, Name, read
from common.messages.rendering import columns, english, in_html, plain
from instances.core.event_messages import (
    AlertOver,
    ArchiveGivenUp,
    MaintenanceAtHostWithNote,
    NoSchedule,
    Resized,
    StopAt,
    WasIdle,
    Weekly,
)
from instances.core.money_messages import BidUnpaid, TooLittle
from instances.models import Instance, InstanceEvent
from instances.states import InstanceState
from storage.operations.messages import HostIsLost
from tests.roles import as_owner

old = import_module("instances.migrations.0024_sentences_to_messages")
stale = import_module("instances.migrations._stale_messages")

LINK = "Confirm at https://evil.example/pay"
SAID = f"The host says: “{LINK}”"
FILLED = {
    **{"at": "2025-11-30 16:54", "begins": "2025-11-30 16:54", "ends": "2025-11-30 18:00", "needed": "3.06"},
    **{"spendable": "0.0015", "fee": "0.70", "days": 7, "percent": "91", "minutes": 30, "count": 2, "size": 4096},
    **{"category": "internet", "alert": "gpu_idle", "state": "starting", "why": SAID, "note": SAID, "words": LINK},
    **{"price_before": "0.40", "price_after": "0.50", "gpus_before": 2, "gpus_after": 4, "rate": "1.60", "gpu": "GPU-1"},
    **{"gb_before": 10, "gb_after": 20, "number": 48, "title": "some title", "connection": "s3", "zone": "Asia/Shanghai"},
    **{"budget": "team", "done": 43, "total": 210, "ready": 3, "layers": 7, "checks": "disk, ssh"},
}


@pytest.mark.parametrize(("code", "form"), old._FORMS, ids=lambda part: str(part)[:30])
def test_each_sentence_of_before_becomes_the_message_of_now(code: str, form: str) -> None:
    found = old.read_sentence(form % FILLED)
    assert found is not None
    assert found["code"] == code
    parsed = read(found)
    assert parsed is not None, found
    with override("zh-hans"):
        assert "%(" not in plain(parsed)


def test_what_agents_said_is_known_to_both() -> None:
    assert {sentence: form.code for sentence, form in SAID_BEFORE.items()} == {
        form: code for code, form in old._FORMS if form in SAID_BEFORE
    }


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("Nothing is scheduled any more.", NoSchedule),
        ("stop at 2025-11-30 16:54 UTC", StopAt),
        ("Its GPUs did less than 5 % for 30 minutes, and nobody was in it.", WasIdle),
        ("2 → 4 GPUs, 1.60 an hour", Resized),
        (f"s3: {SAID}", About),
        (SAID[:-1], HostSays),  # its end was cut off with the column
    ],
)
def test_some_by_their_class(sentence: str, message: type[Message]) -> None:
    assert isinstance(read(old.read_sentence(sentence)), message)


def test_parts_are_read_one_by_one() -> None:
    parsed = read(old.read_sentence("stop at 2025-11-30 16:54 UTC; 2 weekly entries in Asia/Shanghai"))
    assert parsed is not None
    assert [type(part) for part in parsed.parts] == [StopAt, Weekly]  # type: ignore[attr-defined]


def test_nested_words_keep_their_speaker() -> None:
    given_up = read(old.read_sentence(f"It could not be archived within 3 days: {SAID}"))
    assert isinstance(given_up, ArchiveGivenUp)
    assert isinstance(given_up.why, HostSays)
    broke = read(old.read_sentence("This needs 1.00; the wallet can spend 0.50. The data is kept: top up and start again."))
    assert isinstance(broke, BidUnpaid)
    assert isinstance(broke.why, TooLittle)
    noted = read(old.read_sentence(f"internet: 2025-11-30 16:54 to 2025-11-30 18:00 UTC. {SAID}"))
    assert isinstance(noted, MaintenanceAtHostWithNote)


@pytest.mark.parametrize(
    "text",
    [
        *("bert-run", "<b>; 40 GB x", "stop at noon; or later", "Disk full: none left.", "stop at 2025-13-45 99:99 UTC"),
        *("gpu_idle2: it is not so any more", "It has been great for too long.", "", "; ", "nowhere: 1 to 2 UTC."),
        "The budget “The host says: “x”” does not allow another hour. The data is kept.",
    ],
)
def test_what_is_no_sentence_of_the_market_s_stays_text(text: str) -> None:
    assert old.read_sentence(text) is None


@pytest.mark.django_db
def test_rows_of_before_are_converted_in_batches_and_lose_nothing(
    rent: Callable[..., Instance], agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = rent(agent)
    messages = [
        ("alert_over", "gpu_idle: it is not so any more", AlertOver),
        ("schedule_set", "Nothing is scheduled any more.", NoSchedule),
        ("snapshot_asked", "Copying.", Name),  # a name, whatever it is like
        ("failed", SAID, HostSays),
        ("renewal_failed", "These GPUs are taken.", None),
    ]
    rows = [InstanceEvent.objects.create(instance=instance, kind=kind, detail=text, actor="x") for kind, text, _ in messages]
    newer = InstanceEvent.objects.create(
        instance=instance, kind="failed", detail="unused", message=English(sentence="kept"), actor="x"
    )
    Instance.objects.filter(pk=instance.pk).update(
        progress="Making a fresh root file system.", setback_detail="Its host was written off: it did not come back."
    )
    monkeypatch.setattr(old, "BATCH", 2)
    for _ in range(2):  # it may be run again
        with transaction.atomic():
            old.convert(connection)
    for row, (_, text, form) in zip(rows, messages, strict=True):
        row.refresh_from_db()
        assert row.detail == text
        assert (None if row.message is None else type(row.message)) == form
    assert rows[-1].message is None
    newer.refresh_from_db()
    assert newer.message == English(sentence="kept")
    instance.refresh_from_db()
    assert instance.progress_message == SAID_BEFORE["Making a fresh root file system."]()
    assert instance.setback_message == HostIsLost()
    assert instance.state == InstanceState.REQUESTED
    with override("zh-hans"):
        assert plain(instance.setback_message) == "主机未能恢复，已按永久失联处理。"
        assert english(instance.progress_message) == "Creating a new system disk"
        assert "<script" not in in_html(rows[3].message)


@pytest.mark.django_db
def test_a_process_of_the_release_before_changes_a_text_and_its_message_goes(
    rent: Callable[..., Instance], agent: Any
) -> None:
    """Between `migrate` and its restart it writes the text alone: the row then shows that text."""
    instance = rent(agent)
    own = Instance.objects.filter(pk=instance.pk)
    own.update(progress="Copying.", setback_detail="Its host was written off: it did not come back.")
    with transaction.atomic():
        old.convert(connection)
    own.update(progress="Sending.")  # by the process of before
    instance.refresh_from_db()
    assert (instance.progress, instance.progress_message) == ("Sending.", None)
    assert instance.setback_message == HostIsLost(), "its text has not changed"
    own.update(**columns("progress", SAID_BEFORE["Receiving."]()))
    own.update(progress="Receiving", state=instance.state)
    instance.refresh_from_db()
    assert instance.progress_message == SAID_BEFORE["Receiving."](), "a process of now writes both, and the same text again"
    own.update(progress="")
    instance.refresh_from_db()
    assert instance.progress_message is None


@pytest.mark.django_db
@pytest.mark.parametrize(("table", "text", "message"), stale.CHANGING)
def test_each_text_that_may_change_has_its_trigger(table: str, text: str, message: str) -> None:
    assert (table, text, message) in old.COLUMNS
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER clear_stale_{message} ON {table}")
        old.forwards(None, SimpleNamespace(connection=connection))
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass", [table])
        assert (f"clear_stale_{message}",) in cursor.fetchall()


def test_only_events_have_texts_that_stay() -> None:
    staying = {table for table, *_ in old.COLUMNS} - {table for table, *_ in stale.CHANGING}
    assert staying == {"instances_instanceevent", "marketplace_hostevent"}
