"""Roots that nothing limits: measured now and then, at once when room goes, and stopped when they hold too much."""

from dataclasses import replace

from agents.daemon.disks.root_usage_watch import CHECKS_PER_MEASUREMENT, GRACE_S, RESERVE, STEP, RootUsage, RootWatch
from agents.daemon.lib.sizes import GIB

FULL = RootUsage("a" * 32, 3, 21 * GIB, 20 * GIB, GRACE_S + 1)
AMPLE = RESERVE * 10


class Host:
    """What is measured, how often, and what was stopped."""

    def __init__(self, *roots: RootUsage) -> None:
        self.roots, self.room, self.measured = list(roots), AMPLE, 0
        self.stopped: dict[str, str] = {}
        self.watch = RootWatch(self._measure, lambda: self.room, self._stop)

    def _measure(self) -> list[RootUsage]:
        self.measured += 1
        return self.roots

    def _stop(self, root: RootUsage, words: str) -> None:
        self.stopped[root.instance] = words


def test_one_that_holds_too_much_is_stopped_and_told_why() -> None:
    host = Host(FULL, replace(FULL, instance="b" * 32, size=FULL.limit))
    host.watch.look()
    assert host.stopped == {FULL.instance: "It holds 21.0 GB beside its image and /data; its system disk has 20 GB."}


def test_after_its_next_start_there_is_time_to_tidy_up_while_there_is_room() -> None:
    host = Host(replace(FULL, run_seconds=1.0))
    host.watch.look()
    assert host.stopped == {}
    host.room = RESERVE - 1
    host.watch.look()
    assert host.stopped


def test_it_is_measured_now_and_then_and_at_once_when_room_goes() -> None:
    host = Host()
    for _ in range(CHECKS_PER_MEASUREMENT):
        host.watch.look()
    assert host.measured == 1
    host.watch.look()
    assert host.measured == 2
    host.room -= STEP
    host.watch.look()
    assert host.measured == 3
