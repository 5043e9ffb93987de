"""The log of an instance, once or as it grows."""

import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth import errors
from berth.cli.framework import Refused, command, printable, session
from berth.cli.lookup import complete_instance, find_instance
from berth.cli.output import as_json

if TYPE_CHECKING:
    from berth import models

_READING_S, _QUIET_S, _LONGEST_S = 0.4, 1.0, 5.0
_MOST_READING_S = 60.0


@command("logs")
@click.argument("instance", shell_complete=complete_instance)
@click.option("--follow", "-f", is_flag=True, help="Keep printing new lines until Ctrl-C")
@click.option("--tail", "-n", type=click.IntRange(1, 2000), default=200, show_default=True, help="Number of last lines")
@click.option("--since", type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"]), help="Only lines since this time (UTC)")
@click.option("--grep", "q", help="Only lines that contain this text, ignoring case; filtered on the host")
@click.option("--on-start", is_flag=True, help="Show the start script's log instead")
@click.option("--timestamps", is_flag=True, help="Show the host's timestamps")
def logs(*, instance: str, follow: bool, timestamps: bool, since: datetime | None, on_start: bool, **only: Any) -> None:
    """Show or follow the output of an instance's first process.

    Following polls the host: every second, slowing to every five seconds while nothing is logged.
    """
    client = session().client
    found = find_instance(client, instance)
    wanted: dict[str, Any] = {
        "tail": only["tail"],
        "q": only["q"] or UNSET,
        "source": "on_start" if on_start else UNSET,
        "since": since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else UNSET,
    }
    log = read_log(found.id, wanted)
    if log.failure and not log.lines:
        raise Refused(f"The log can't be read: {log.failure}")
    if log.failure:
        session().out.note(f"These are older lines. The log can't be read: {log.failure}")
    if session().out.is_json and not follow:
        session().out.json(log)
        return
    _print(log.lines, timestamps=timestamps)
    if follow:
        for lines in _follow(found.id, wanted, log.lines):
            _print(lines, timestamps=timestamps)


def read_log(instance_id: str, wanted: dict[str, Any]) -> "models.LogsOut":
    """Return the log once the host has answered."""
    client, ends = session().client, time.monotonic() + _MOST_READING_S
    while True:
        log = client.instances.logs(instance_id, **wanted)
        if not log.reading or time.monotonic() > ends:
            return log
        time.sleep(_READING_S)


def _follow(instance_id: str, wanted: dict[str, Any], seen: "list[models.LogLine]") -> "Iterator[list[models.LogLine]]":
    pause = _QUIET_S
    while True:
        time.sleep(pause)
        try:
            lines = read_log(instance_id, {**wanted, "tail": 2000}).lines
        except (errors.ConnectionFailed, errors.ServerError, errors.TooManyRequests) as error:
            if pause < _LONGEST_S:
                session().out.note(f"{error} Going on as soon as it answers.")
            pause = _LONGEST_S
            continue
        fresh = _after(lines, seen)
        pause = _QUIET_S if fresh else min(_LONGEST_S, pause * 1.5)
        if fresh:
            yield fresh
            seen = lines


def _after(lines: "list[models.LogLine]", seen: "list[models.LogLine]") -> "list[models.LogLine]":
    """Return the lines that come after the last one that was seen; all if it isn't there any more."""
    if not seen:
        return lines
    last = seen[-1]
    at = max((number for number, line in enumerate(lines) if (line.at, line.text) == (last.at, last.text)), default=None)
    if at is None:
        return [line for line in lines if line.at > last.at]
    return lines[at + 1 :]


def _print(lines: "list[models.LogLine]", *, timestamps: bool) -> None:
    out = session().out
    for line in lines:
        if out.is_json:
            sys.stdout.write(as_json(line) + "\n")
        else:
            sys.stdout.write(f"{line.at + ' ' if timestamps else ''}{printable(line.text)}\n")
    sys.stdout.flush()
