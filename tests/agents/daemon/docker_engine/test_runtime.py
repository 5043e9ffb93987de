"""What is read off the engine's own description of a container."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agents.daemon.docker_engine import cgroups
from agents.daemon.docker_engine.container_inspection import container_of
from agents.daemon.docker_engine.container_spec import INSTANCE_LABEL

NEVER = "0001-01-01T00:00:00Z"


def described(started_at: str, ended_at: str = NEVER) -> dict[str, Any]:
    state: dict[str, Any] = {"Status": "exited", "StartedAt": started_at, "FinishedAt": ended_at}
    state |= {"ExitCode": 137, "OOMKilled": False, "Pid": 0}
    return {"Id": "c", "Name": "/berth-x-2", "Config": {"Labels": {INSTANCE_LABEL: "x"}}, "State": state}


def test_the_machine_was_booted_before_now() -> None:
    ago = datetime.now(UTC) - cgroups.booted_at()
    assert abs(ago.total_seconds() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 1


@pytest.mark.parametrize(("hours", "before"), [(-1, True), (1, False)])
def test_a_container_of_an_earlier_boot_is_told_from_one_of_this(hours: int, before: bool) -> None:
    started = cgroups.booted_at() + timedelta(hours=hours)
    container = container_of(described(f"{started:%Y-%m-%dT%H:%M:%S}.123456789Z"))
    assert (container.before_boot, container.status, container.generation) == (before, "exited", 2)


def test_one_that_never_started_is_of_no_boot() -> None:
    assert not container_of(described(NEVER)).before_boot


@pytest.mark.parametrize(
    ("began", "ended", "seconds"),
    [
        ("2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:24.623456789Z", 19.5),
        ("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.5Z", 0.0),
        ("2026-01-02T03:04:05.5Z", "2026-01-02T02:04:05.5Z", 0.0),  # the clock was set back meanwhile
        (NEVER, NEVER, 0.0),
    ],
)
def test_a_run_that_has_ended_has_a_length(began: str, ended: str, seconds: float) -> None:
    assert container_of(described(began, ended)).run_seconds == pytest.approx(seconds)
