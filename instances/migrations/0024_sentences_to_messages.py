"""Turn the English sentences in rows of before into codes with parameters. What is no known sentence keeps its text alone.

The forms of before are listed here and nowhere else. Each batch is its own transaction, so that no write waits for long; a
run that was broken off is taken up where it stopped. Before that, triggers clear each message whose text is changed by a
process of the release before, which does not know of messages.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.db import migrations, transaction

from instances.migrations._stale_messages import clear_stale_messages

BATCH = 2_000
# (table, its text, the message beside it)
COLUMNS = (
    ("instances_instanceevent", "detail", "message"),
    ("instances_instance", "failure_detail", "failure_message"),
    ("instances_instance", "setback_detail", "setback_message"),
    ("instances_instance", "progress", "progress_message"),
    ("instances_move", "failure_detail", "failure_message"),
    ("instances_logread", "failure", "failure_message"),
    ("storage_operation", "detail", "message"),
    ("storage_volume", "failure_detail", "failure_message"),
    ("storage_snapshot", "failure_detail", "failure_message"),
    ("storage_volumemove", "failure_detail", "failure_message"),
    ("storage_sync", "failure_detail", "failure_message"),
    ("storage_image", "failure", "failure_message"),
    ("marketplace_hostevent", "detail", "message"),
)
_CATEGORIES = ("power", "internet", "disk", "gpu", "software", "other")
_ALERTS = (
    *("gpu_idle", "disk_full", "inodes_full", "memory_high", "out_of_memory", "gpu_fault", "path_broken", "data_lost"),
)
_STATES = (
    *("requested", "waiting", "provisioning", "running", "stopping", "stopped", "starting", "restarting", "copying"),
    *("failed", "releasing", "gone"),
)


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micros(text: str) -> int:
    units, _, places = text.partition(".")
    return int(units) * 1_000_000 + int(places.ljust(6, "0"))


def _whole(text: str) -> int:
    return round(float(text))


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in known:
            raise ValueError(text)
        return text.lower()

    return read


def _words(text: str) -> dict[str, Any]:
    return read_sentence(text) or {"code": "english", "params": {"sentence": text}}


def _host_words(text: str) -> dict[str, Any]:
    found = read_sentence(text)
    if found is None or found["code"] != "host_says":
        raise ValueError(text)
    return found


_SIMPLE = r"[^“”]{1,300}?"
_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("at", "begins", "ends"), (r"[0-9: -]{16,19}", _moment)),
    **dict.fromkeys(("needed", "spendable", "fee", "rate", "amount", "price_before", "price_after"), (r"[0-9.]+", _micros)),
    **dict.fromkeys(
        ("days", "count", "minutes", "percent", "number", "size", "gpus_before", "gpus_after"), ("[0-9.]+", _whole)
    ),
    **dict.fromkeys(("done", "total", "ready", "layers", "gb_before", "gb_after"), ("[0-9]+", _whole)),
    "category": (_SIMPLE, _one_of(_CATEGORIES)),
    "alert": (_SIMPLE, _one_of(_ALERTS)),
    "state": (_SIMPLE, _one_of(_STATES)),
    "why": (".{1,300}", _words),
    "note": (".{1,300}", _host_words),
    "words": ("[^“”]+", str),
}
# Events whose detail is what somebody has named: looked up nowhere.
_NAMING = (
    *("snapshot_asked", "volume_coming", "volume_arrived", "image_asked", "cloned_from", "clone_asked", "clone_made"),
    *("move_asked", "move_done", "sync_done", "archive_set", "archived", "archive_begun", "ports_changed"),
    *("addresses_changed", "rented_from_wait_list", "port_replaced", "reimage_asked", "reimage_set", "converted"),
    *("volume_attached", "volume_detached", "restore_asked"),
)

# Of before, by the code of now. "%%" and "%(x)s" as Python fills them in.
_FORMS = (
    (
        "payment_disputed",
        "A payment of yours is disputed by the card's bank: spot rents stop until that is decided. The data is kept.",
    ),
    (
        "payment_taken_back",
        "A bank has taken back a card payment that paid for this instance. Its data is kept: start it again with other"
        " funds.",
    ),
    (
        "outbid",
        "Others outbid it, or an order at the full price needs its GPUs. It goes on by itself when it wins.",
    ),
    ("silent_host", "Its host does not report; a new notice will follow when it does."),
    ("unpaid", "The wallet cannot pay for another hour. The data is kept: top up and start again."),
    (
        "bid_barred",
        "This account is now linked to the host's owner, so it can't bid here. The data is kept: rent by the hour instead.",
    ),
    ("too_little", "This needs %(needed)s; the wallet can spend %(spendable)s."),
    ("interruption", "Its GPUs go to others at %(at)s UTC. The data disk is kept."),
    ("data_kept", "%(days)s days for up to %(fee)s, until %(at)s UTC."),
    (
        "written_off",
        "Its host did not come back and was written off: that is the host's fault. Nothing is charged for the time since its"
        " last report at %(at)s UTC; what was on it is lost.",
    ),
    ("term_over", "It ended at %(at)s UTC."),
    ("term_renewed", "Until %(at)s UTC."),
    ("maintenance", "%(category)s: %(begins)s to %(ends)s UTC."),
    ("maintenance_noted", "%(category)s: %(begins)s to %(ends)s UTC. %(note)s"),
    ("sync_up", "to object storage: %(connection)s"),
    ("sync_down", "from object storage: %(connection)s"),
    ("archive_untried", "It could not be archived within %(days)s days: –"),
    ("archive_given_up", "It could not be archived within %(days)s days: %(why)s"),
    ("stop_at", "stop at %(at)s UTC"),
    ("release_at", "release at %(at)s UTC"),
    ("weekly", "%(count)s weekly entries in %(zone)s"),
    ("stop_idle", "stop below %(percent)s %% for %(minutes)s min"),
    ("no_schedule", "Nothing is scheduled any more."),
    ("used", "%(percent)s %% are used."),
    ("at_most", "At most %(percent)s %% in the last %(minutes)s minutes."),
    ("memory_limit", "Its limit is %(size)s MiB."),
    ("gpu_error", "Xid %(number)s of %(gpu)s: %(title)s."),
    ("alert_over", "%(alert)s: it is not so any more"),
    ("alert_dismissed", "%(alert)s: set aside by its renter"),
    ("alert_ended", "%(alert)s: the run has ended"),
    ("line_left", "No GPUs were free for %(days)s days. The money that was held is free again; the data is kept."),
    ("was_idle", "Its GPUs did less than %(percent)s %% for %(minutes)s minutes, and nobody was in it."),
    ("budget_reached", "The budget “%(budget)s” does not allow another hour. The data is kept."),
    ("overdue", "It has been %(state)s for too long. People have been told; it goes on by itself meanwhile."),
    ("retention_over", "The data was kept for %(days)s days after the stop."),
    ("bid_changed", "%(price_before)s → %(price_after)s per GPU and hour"),
    ("resized", "%(gpus_before)s → %(gpus_after)s GPUs, %(rate)s an hour"),
    ("disk_resized", "%(gb_before)s → %(gb_after)s GB"),
    ("disk_size", "%(size)s GB"),
    ("not_in_backup", "It was released or moved to another host after the backup from which the market was restored."),
    ("at", "%(at)s UTC"),
    ("bid_unpaid", "%(why)s The data is kept: top up and start again."),
    # of hosts and their work
    ("host_is_lost", "Its host was written off: it did not come back."),
    ("out_of_time", "It took too long."),
    ("not_saved", "It was not saved."),
    ("no_answer", "The host gave no answer."),
    ("loading_image", "Loading the image: %(done)s of %(total)s MiB, %(ready)s of %(layers)s layers ready."),
    ("checking_received", "Checking everything that came."),
    ("checking_copy", "Checking the copy."),
    ("comparing_files", "Comparing the files on both sides."),
    ("copying", "Copying."),
    ("copying_data_disk", "Copying the data disk."),
    ("copying_disk", "Copying the disk."),
    ("copying_snapshot", "Copying the snapshot."),
    ("copying_changes", "Copying what has changed meanwhile."),
    ("copying_system_disk", "Copying what was installed."),
    ("loading_copy_program", "Loading the program that copies."),
    ("preparing_to_send", "Looking at what is to be sent."),
    ("making_system_disk", "Making a fresh root file system."),
    ("expanding_disk", "Making it larger."),
    ("packing_system_disk", "Packing what was installed."),
    ("receiving", "Receiving."),
    ("saving_system_disk", "Saving the root file system."),
    ("sending", "Sending."),
    ("pushing_image", "Sending the image to the registry."),
    ("simulated_copy", "This host is simulated: nothing was copied."),
    ("unpacking_system_disk", "Unpacking what was installed."),
    ("waiting_for_pull", "Waiting for another image to arrive."),
    ("gpu_count", "%(count)s GPUs"),
    ("reports_again", "It reports again."),
    ("no_report_since", "No report since %(at)s UTC."),
    ("key_revoked", "The key of its agent was revoked."),
    ("owner_disabled", "Its owner's account is switched off."),
    ("no_end", "no end planned"),
    ("listed_until", "until %(at)s UTC"),
    ("maintenance_window", "%(category)s, %(begins)s to %(ends)s UTC"),
    ("checks_passed", "passed: %(count)s checks"),
    ("checks_failed", "failed: %(checks)s"),
    ("no_test_answer", "No answer within %(minutes)s minutes."),
    ("test_passed", "Its self-test passed."),
    ("simulated_test_passed", "Its simulated self-test passed."),
    ("refusal_withdrawn", "The refusal was taken back."),
    # what hosts and renters wrote
    ("host_says", "The host says: “%(words)s”"),
    ("host_says", "The host says: “%(words)s"),  # its end was cut off with the column
    ("renter_says", "The renter says: “%(words)s”"),
)


def _pattern(form: str) -> re.Pattern[str]:
    pieces = re.split(r"%\((\w+)\)s", form.replace("%%", "%"))
    parts = (
        f"(?P<{piece}>{_READERS.get(piece, (_SIMPLE, str))[0]})" if number % 2 else re.escape(piece)
        for number, piece in enumerate(pieces)
    )
    return re.compile("".join(parts))


_PATTERNS = tuple((code, _pattern(form)) for code, form in _FORMS)


def read_sentence(text: str) -> dict[str, Any] | None:
    """The message of a sentence of before; None for what is no such sentence."""
    for code, pattern in _PATTERNS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        try:
            values = {_name(name): _READERS.get(name, (_SIMPLE, str))[1](value) for name, value in found.groupdict().items()}
        except (ValueError, OverflowError):
            continue
        values.pop("title", None)  # goes by the number
        return {"code": code, "params": values}
    return _several(text) or _about(text)


def _name(name: str) -> str:
    """`gpus_before` is a number of GPUs, and the parameter `before`."""
    return name.rpartition("_")[2]


def _several(text: str) -> dict[str, Any] | None:
    parts = [read_sentence(part) for part in text.split("; ")] if "; " in text and "“" not in text else []
    return {"code": "parts", "params": {"parts": parts}} if parts and all(parts) else None


def _about(text: str) -> dict[str, Any] | None:
    """A name, and what a host says of it."""
    name, _, what = text.partition(": The host says: “")
    if not what or "“" in name or "”" in name:
        return None
    return {"code": "about", "params": {"name": name, "what": _words(f"The host says: “{what}")}}


def message_of(text: str, kind: str) -> dict[str, Any] | None:
    return {"code": "name", "params": {"name": text}} if kind in _NAMING else read_sentence(text)


def convert(connection: Any) -> None:
    for table, text, message in COLUMNS:
        _convert(connection, table, text, message)


def _convert(connection: Any, table: str, text: str, message: str) -> None:
    kind = "kind" if table == "instances_instanceevent" else "''"
    last = None
    while True:
        after = "" if last is None else "AND id > %s"
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(
                f"SELECT id, {text}, {kind} FROM {table} WHERE {text} <> '' AND {message} IS NULL {after}"  # noqa: S608  (names)
                f" ORDER BY id LIMIT {BATCH} FOR NO KEY UPDATE",
                [] if last is None else [last],
            )
            rows = cursor.fetchall()
            found = [(json.dumps(said), key) for key, words, of in rows if (said := message_of(words, of)) is not None]
            cursor.executemany(f"UPDATE {table} SET {message} = %s::jsonb WHERE id = %s", found)  # noqa: S608  (names)
        if len(rows) < BATCH:
            return
        last = rows[-1][0]


def forwards(_apps: Any, schema_editor: Any) -> None:
    clear_stale_messages(schema_editor.connection)
    convert(schema_editor.connection)


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [
        ("instances", "0023_messages"),
        ("storage", "0012_messages"),
        ("marketplace", "0017_messages"),
    ]

    # Backwards the text is there as it was.
    operations: ClassVar = [migrations.RunPython(forwards, migrations.RunPython.noop)]
