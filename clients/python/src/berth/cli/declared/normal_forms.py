"""Readers of values that the market stores in a form of its own: they return that form, so that both can be compared."""

import ipaddress
import re
import shlex
import unicodedata
from typing import Any, Final
from zoneinfo import available_timezones

from yaml.nodes import Node, ScalarNode

from berth.cli.declared.nodes import Problems, Reader, at_most, literal, many, one_of, record, text, whole

WEEKLY_AT_MOST: Final = 28
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORDS: Final = many(literal)
_GRACE_S: Final = 60
_TIME_OF_DAY: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_READINESS: Final = record(
    {"type": one_of("http", "tcp"), "port": whole, "path": text, "grace_seconds": whole}, required=("port",)
)


def _time_of_day(problems: Problems, node: Node, path: str) -> str:
    found = text(problems, node, path)
    if not _TIME_OF_DAY.fullmatch(found):
        problems.add(node, f"{path}: write a time of day like 08:30.")
    return found


def _time_zone(problems: Problems, node: Node, path: str) -> str:
    """Read the name of a time zone; where the system has no list of them, the market alone checks it."""
    found, known = text(problems, node, path), available_timezones()
    if found and known and found not in known:
        problems.add(node, f"{path}: write the name of a time zone, like Europe/Berlin.")
    return found


_DAYS: Final = many(one_of(*DAYS))
_TIMES: Final = record(
    {"action": one_of("start", "stop"), "days": _DAYS, "time": _time_of_day}, required=("action", "days", "time")
)
_SCHEDULE: Final = record(
    {"weekly": at_most(WEEKLY_AT_MOST, many(_TIMES)), "time_zone": _time_zone}, required=("weekly", "time_zone")
)


def title(problems: Problems, node: Node, path: str) -> str:
    """Read a line for people: composed, and without spaces around it."""
    return unicodedata.normalize("NFC", text(problems, node, path)).strip()


def unique(reader: Reader) -> Reader:
    """Return a reader of a list in which everything is once."""
    listed = many(reader)
    return lambda problems, node, path: list(dict.fromkeys(listed(problems, node, path)))


def lines(problems: Problems, node: Node, path: str) -> str:
    """Read a text of several lines, which end as shells understand it."""
    return literal(problems, node, path).replace("\r\n", "\n")


def script(problems: Problems, node: Node, path: str) -> str:
    """Read a script; one of nothing but space is none."""
    found = lines(problems, node, path)
    return found if found.strip() else ""


def command(problems: Problems, node: Node, path: str) -> Any:
    """Read a list of words, or a line that a shell runs."""
    if not isinstance(node, ScalarNode):
        return _WORDS(problems, node, path)
    line = lines(problems, node, path).strip()
    return ["/bin/sh", "-c", line, "sh"] if line else []


def arguments(problems: Problems, node: Node, path: str) -> Any:
    """Read a list of words, or a line that is split as a shell splits it."""
    if not isinstance(node, ScalarNode):
        return _WORDS(problems, node, path)
    try:
        return shlex.split(lines(problems, node, path))
    except ValueError:
        problems.add(node, f"{path}: a quotation mark isn't closed. Close it, or write a list.")
        return []


def readiness(problems: Problems, node: Node, path: str) -> dict[str, Any]:
    """Read a readiness check with all its parts; a path alone means HTTP."""
    found: dict[str, Any] = _READINESS(problems, node, path)
    kind = found.get("type") or ("http" if found.get("path") else "tcp")
    url_path = found.get("path") or ("/" if kind == "http" else "")
    return {"type": kind, "port": found.get("port"), "path": url_path, "grace_seconds": found.get("grace_seconds", _GRACE_S)}


def network(problems: Problems, node: Node, path: str) -> str:
    """Read a network; an address is a network of one address."""
    found = text(problems, node, path).strip()
    try:
        return str(ipaddress.ip_network(found))
    except ValueError:
        problems.add(node, f"{path}: write an IP address, or a range like 10.0.0.0/8.")
        return found


def schedule(problems: Problems, node: Node, path: str) -> dict[str, Any]:
    """Read a weekly schedule: days in their order, and no time zone where nothing is scheduled."""
    found: dict[str, Any] = _SCHEDULE(problems, node, path)
    weekly = found.get("weekly", [])
    if weekly and found.get("time_zone") == "":
        problems.add(node, f"{path}: its times need a time_zone, like Europe/Berlin.")
    for each in weekly:
        each["days"] = sorted(set(each.get("days", [])), key=lambda day: DAYS.index(day) if day in DAYS else len(DAYS))
        if not each["days"]:
            problems.add(node, f"{path}: each entry of weekly needs a day.")
    _check_clashes(problems, node, path, weekly)
    return {"weekly": weekly, "time_zone": found.get("time_zone", "") if weekly else ""}


def _check_clashes(problems: Problems, node: Node, path: str, weekly: list[dict[str, Any]]) -> None:
    """Refuse a start and a stop at the same time of the week."""
    taken: dict[tuple[str, str], str] = {}
    for each in weekly:
        for day in each["days"]:
            if taken.setdefault((day, each.get("time", "")), each.get("action", "")) != each.get("action", ""):
                problems.add(node, f"{path}: a start and a stop are set for the same time on {day}.")
                return
