"""Operations on a host: begun once for each order, told until no longer named, safe to break off and to begin again."""

import threading
from collections.abc import Callable, Mapping

from agents.daemon.disks.operation_runner import STEP_BYTES, Operation, Operations
from agents.daemon.lib.errors import Failed, Superseded
from agents.protocol.messages import OperationOrder
from agents.protocol.progress_messages import say

A, B = OperationOrder("a" * 32, "copy", {"from": "x"}), OperationOrder("b" * 32, "copy")


def with_operator(operator: Callable[[Operation], Mapping[str, str]], *, inline: bool = True) -> Operations:
    return Operations({"copy": operator}, inline=inline)


def test_an_order_is_carried_out_once_and_told_until_it_is_no_longer_named() -> None:
    made: list[str] = []

    def copy(own: Operation) -> Mapping[str, str]:
        made.append(own.order.args["from"])
        own.progress(5, 10, say("copying"))
        return {"checksum": "f00"}

    operations = with_operator(copy)
    for _ in range(2):
        operations.apply([A])
        (seen,) = operations.seen()
        assert (seen.phase, seen.done_bytes, seen.total_bytes, seen.outcome) == ("done", 5, 10, {"checksum": "f00"})
    assert made == ["x"]
    operations.apply([])
    assert operations.seen() == []


def test_each_way_to_fail_is_told_with_its_code() -> None:
    errors: dict[str, Exception] = {
        "disk_full": Failed("disk_full", "The host has no room."),
        "operation_failed": OSError(5, "Input/output error"),
    }

    def fail(own: Operation) -> Mapping[str, str]:
        raise errors[own.order.args["with"]]

    operations = with_operator(fail)
    operations.apply([OperationOrder(f"{number}" * 32, "copy", {"with": code}) for number, code in enumerate(errors)])
    assert [(seen.phase, seen.failure_code) for seen in operations.seen()] == [("failed", code) for code in errors]
    operations.apply([OperationOrder("c" * 32, "fly")])
    (seen,) = operations.seen()
    assert (seen.phase, seen.failure_code) == ("failed", "unknown_operation")


def test_what_is_no_longer_named_is_cancelled() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(own: Operation) -> Mapping[str, str]:
        begun.set()
        assert own.cancelled.wait(30)
        try:
            own.check()
        except Superseded:
            ended.set()
            raise
        return {}

    operations = with_operator(endless, inline=False)
    operations.apply([A])
    assert begun.wait(30)
    assert [seen.phase for seen in operations.seen()] == ["running"]
    operations.apply([B])
    assert ended.wait(30)
    assert [seen.id for seen in operations.seen()] == [B.id]
    operations.cancel()


def test_what_is_no_longer_named_is_at_work_until_it_has_cleared_away() -> None:
    begun, cleared = threading.Event(), threading.Event()

    def tidy_after_itself(own: Operation) -> Mapping[str, str]:
        begun.set()
        assert own.cancelled.wait(30)
        assert cleared.wait(30)
        return {}

    operations = with_operator(tidy_after_itself, inline=False)
    operations.apply([A])
    assert begun.wait(30)
    operations.apply([])
    assert operations.seen() == []
    assert operations.at_work()
    cleared.set()
    for thread in [each for each in threading.enumerate() if each.name.startswith("operation-")]:
        thread.join(30)
    assert not operations.at_work()


def test_progress_is_worth_a_report_only_now_and_then() -> None:
    notified: list[bool] = []

    def copy(own: Operation) -> Mapping[str, str]:
        for done in range(0, 3 * STEP_BYTES, STEP_BYTES // 16):
            own.progress(done, 3 * STEP_BYTES)
        return {}

    operations = with_operator(copy)
    operations.changed = notified.append
    operations.apply([A])
    assert notified == [False] * 3
