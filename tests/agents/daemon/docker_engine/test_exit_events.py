"""Who ended a container, by what the engine remembers."""

from typing import Any

import pytest

from agents.daemon.docker_engine.exit_events import REMEMBERED, WITHIN, who_ended

OWN, OTHER = "a" * 64, "b" * 64
SECOND = 1_000_000_000


def event(action: str, at_s: float, signal: str = "", container: str = OWN) -> dict[str, Any]:
    attributes = {"signal": signal} if signal else {}
    return {"Action": action, "Actor": {"ID": container, "Attributes": attributes}, "timeNano": int(at_s * SECOND)}


DIE = event("die", 100)
LATE = WITHIN.total_seconds() + 1


@pytest.mark.parametrize(
    ("messages", "by"),
    [
        ([DIE], "itself"),
        ([event("kill", 99, "9"), DIE], "host"),
        ([event("kill", 90, "15"), event("kill", 100, "9"), DIE, event("stop", 101)], "host"),
        ([event("kill", 99, "10"), DIE], "host"),  # a signal that ends what does not catch it
        ([event("kill", 99, "28"), DIE], "itself"),  # the terminal's size has changed
        ([event("kill", 99, "9", OTHER), event("die", 99, container=OTHER), DIE], "itself"),
        ([event("kill", 100 - LATE, "1"), DIE], "itself"),  # it got over that
        ([event("kill", 10, "15"), event("die", 11), event("start", 12), event("kill", 99, "9"), DIE], "host"),
        ([event("kill", 97, "15"), event("die", 98), event("start", 99), DIE], "itself"),  # a restart, and then its own end
        ([event("exec_create: sh -c kill 1", 99), DIE], "itself"),
        ([], "engine"),
        ([event("start", 50, container=OTHER)], "engine"),
        ([event("start", 50, container=OTHER)] * REMEMBERED, "itself"),  # it has forgotten, which is no evidence
    ],
)
def test_who_ended_it(messages: list[dict[str, Any]], by: str) -> None:
    assert who_ended(messages, OWN, ordered=False) == by


@pytest.mark.parametrize("messages", [[event("kill", 99, "15"), DIE], []])
def test_what_this_agent_ordered_is_nobodys_meddling(messages: list[dict[str, Any]]) -> None:
    assert who_ended(messages, OWN, ordered=True) == "itself"


def test_events_of_other_things_have_no_actor() -> None:
    assert who_ended([{"Action": "reload", "timeNano": 1}, DIE], OWN, ordered=False) == "itself"
