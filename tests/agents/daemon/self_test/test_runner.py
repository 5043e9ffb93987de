"""Who makes a self-test: once for each that is asked for, beside the loop, and told until it is no longer asked for."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.daemon.self_test.runner import DEADLINE_SECONDS, HUNG_SECONDS, SelfTester
from agents.protocol.messages import Check

A, B = "a" * 32, "b" * 32


def nobody() -> frozenset[str]:
    return frozenset()


def two_checks(held: Callable[[], frozenset[str]]) -> Iterator[Check]:
    yield Check("engine_version", True)
    yield Check("kernel", True)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_one_that_is_asked_for_is_made_and_told_until_it_is_not() -> None:
    changes: list[int] = []
    tester = SelfTester(two_checks, inline=True, changed=lambda: changes.append(1))
    assert tester.result() is None
    tester.apply("", nobody)
    assert tester.result() is None
    tester.apply(A, nobody)
    found = tester.result()
    assert found is not None
    assert (found.id, [check.id for check in found.checks], len(changes)) == (A, ["engine_version", "kernel"], 1)
    tester.apply(A, nobody)
    assert tester.result() == found, "asked again, since the answer may have been lost: it is the same one"
    tester.apply("", nobody)
    assert tester.result() is None
    tester.apply(B, nobody)
    again = tester.result()
    assert again is not None
    assert again.id == B


def test_a_check_that_breaks_ends_the_self_test_not_the_agent() -> None:
    def breaks(held: Any) -> Iterator[Check]:
        yield Check("kernel", True)
        raise RuntimeError("no such thing")

    tester = SelfTester(breaks, inline=True)
    tester.apply(A, nobody)
    found = tester.result()
    assert found is not None
    assert [(check.id, check.passed, check.reason) for check in found.checks] == [
        ("kernel", True, ""),
        ("finished", False, "failed"),
    ]
    assert "no such thing" in found.checks[1].actual


def test_the_deadline_ends_it_between_two_checks() -> None:
    clock = Clock()

    def slow(held: Any) -> Iterator[Check]:
        for number in range(100):
            clock.now += DEADLINE_SECONDS / 3
            yield Check(f"check_{number}", True)

    tester = SelfTester(slow, inline=True, clock=clock)
    tester.apply(A, nobody)
    found = tester.result()
    assert found is not None
    assert len(found.checks) == 5
    assert (found.checks[-1].id, found.checks[-1].reason) == ("finished", "out_of_time")


def test_a_check_that_hangs_does_not_keep_the_others_back() -> None:
    clock, reached, gate = Clock(), threading.Event(), threading.Event()

    def hangs(held: Any) -> Iterator[Check]:
        yield Check("kernel", True)
        reached.set()
        gate.wait()
        yield Check("disk_read", True)

    tester = SelfTester(hangs, inline=False, clock=clock)
    tester.apply(A, nobody)
    assert reached.wait(60)
    assert tester.result() is None
    assert tester.at_work()
    clock.now += DEADLINE_SECONDS + HUNG_SECONDS
    found = tester.result()
    assert found is not None
    assert [check.id for check in found.checks] == ["kernel", "finished"]
    tester.apply(B, nobody)
    assert tester.result() is None, "one at a time: the next is made when the old one has ended"
    gate.set()


def test_one_that_is_not_wanted_any_more_ends_after_its_check() -> None:
    begun, gate, made = threading.Event(), threading.Event(), []

    def checks(held: Any) -> Iterator[Check]:
        begun.set()
        gate.wait()
        made.append(1)
        yield Check("kernel", True)
        made.append(2)
        yield Check("disk_read", True)

    tester = SelfTester(checks, inline=False)
    tester.apply(A, nobody)
    assert begun.wait(5)
    tester.apply("", nobody)
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "self-test":
            thread.join(5)
    assert made == [1]
    assert not tester.at_work()
    assert tester.result() is None


@pytest.mark.parametrize("inline", [True, False])
def test_the_checks_see_which_gpus_are_held(inline: bool) -> None:
    seen = []

    def checks(held: Callable[[], frozenset[str]]) -> Iterator[Check]:
        seen.append(held())
        yield Check("kernel", True)

    done = threading.Event()
    tester = SelfTester(checks, inline=inline, changed=done.set)
    tester.apply(A, lambda: frozenset({"GPU-1"}))
    assert done.wait(60)
    assert seen == [{"GPU-1"}]
