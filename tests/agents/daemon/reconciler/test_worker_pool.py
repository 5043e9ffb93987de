"""Jobs: one for each instance, cancelled when outdated, passed by a removal, tried again after trouble."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.engine.interface import EngineRefused
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.journal import Journal
from agents.daemon.reconciler.jobs import Job, JobPhase
from agents.daemon.reconciler.plan import Action
from agents.daemon.reconciler.worker_pool import WorkerPool
from agents.protocol.messages import DesiredInstance
from agents.protocol.progress_messages import say

ID = "a" * 32
PATIENCE = 60.0


def wanted(run: Any = "running", generation: int = 1, fence: int = 1) -> DesiredInstance:
    return DesiredInstance(ID, generation, fence, run, "i")


class Script:
    """Steps that do what the test says."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.acts: dict[str, Callable[[Job], None]] = {}

    def run(self, job: Job) -> None:
        self.begun.append(job.action.kind)
        act = self.acts.get(job.action.kind)
        if act is not None:
            act(job)


class Bell:
    """Counts the pool's notices that something changed."""

    def __init__(self) -> None:
        self.rung = threading.Condition()
        self.urgent = 0

    def __call__(self, urgent: bool) -> None:
        with self.rung:
            self.urgent += urgent
            self.rung.notify_all()

    def wait_for(self, true: Callable[[], bool]) -> None:
        with self.rung:
            assert self.rung.wait_for(true, PATIENCE)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal", durable=False)


@pytest.fixture
def workers(script: Script, bell: Bell, journal: Journal) -> Iterator[WorkerPool]:
    yield WorkerPool(steps=script, journal=journal, inline=False, changed=bell)  # type: ignore[arg-type]  # a script for steps


def test_one_job_at_a_time(workers: WorkerPool, script: Script, bell: Bell) -> None:
    go_on = threading.Event()

    def create(job: Job) -> None:
        job.report("creating", say("making_system_disk"))
        go_on.wait(PATIENCE)

    script.acts["create"] = create
    workers.start([Action("create", wanted())], time.monotonic())
    bell.wait_for(lambda: workers.busy(math.inf) == {ID: JobPhase("creating", say("making_system_disk"))})
    workers.start([Action("start", wanted())], time.monotonic())
    assert script.begun == ["create"]
    go_on.set()
    bell.wait_for(lambda: not workers.at_work())
    workers.start([Action("start", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 2)
    assert script.begun == ["create", "start"]


def test_a_job_for_what_is_no_longer_wanted_ends_at_its_next_step(workers: WorkerPool, script: Script, bell: Bell) -> None:
    cancelled, ends = threading.Event(), []

    def create(job: Job) -> None:
        cancelled.wait(PATIENCE)
        try:
            job.check()
        except Superseded:
            ends.append("superseded")
            raise

    script.acts["create"] = create
    workers.start([Action("create", wanted())], time.monotonic())
    workers.cancel_outdated({ID: wanted()})
    workers.cancel_outdated({ID: wanted(run="stopped")})
    cancelled.set()
    bell.wait_for(lambda: not workers.at_work())
    assert ends == ["superseded"]


@pytest.mark.parametrize("hangs", ["stop", "create"])
def test_fault_041_a_removal_passes_what_hangs(workers: WorkerPool, script: Script, bell: Bell, hangs: Any) -> None:
    hanging, let_go, touched = threading.Event(), threading.Event(), []

    def hang(job: Job) -> None:
        with job.passable():
            hanging.set()
            let_go.wait(PATIENCE)
        touched.append("after the wait")

    script.acts[hangs] = hang
    workers.start([Action(hangs, wanted(run="stopped" if hangs == "stop" else "running"))], time.monotonic())
    assert hanging.wait(PATIENCE)
    workers.start([Action("remove", wanted(run="gone", fence=2))], time.monotonic())
    bell.wait_for(lambda: workers.absent == {ID})
    let_go.set()
    bell.wait_for(lambda: bell.urgent == 2)
    assert touched == [], "the one that was passed changes nothing any more"


def test_a_removal_waits_for_what_does_not_hang(workers: WorkerPool, script: Script, bell: Bell) -> None:
    go_on = threading.Event()

    def create(job: Job) -> None:
        go_on.wait(PATIENCE)

    script.acts["create"] = create
    workers.start([Action("create", wanted())], time.monotonic())
    workers.start([Action("remove", wanted(run="gone"))], time.monotonic())
    assert script.begun == ["create"]
    go_on.set()
    bell.wait_for(lambda: not workers.at_work())


def test_a_failure_is_written_down(workers: WorkerPool, script: Script, bell: Bell, journal: Journal) -> None:
    def fail(job: Job) -> None:
        raise Failed("ssh_silent", "No banner.")

    script.acts["create"] = fail
    workers.start([Action("create", wanted(generation=4))], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    entry = journal.entry(ID)
    assert (entry.failed, entry.failure_code, entry.failure_detail) == (4, "ssh_silent", "No banner.")


def test_nobody_wants_to_hear_of_a_cancelled_jobs_failure(
    workers: WorkerPool, script: Script, bell: Bell, journal: Journal
) -> None:
    def fail(job: Job) -> None:
        job.cancelled.set()
        raise Failed("ssh_silent", "No banner.")

    script.acts["create"] = fail
    workers.start([Action("create", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    assert journal.entry(ID).failed == 0


def test_trouble_is_tried_again_later_and_ever_later(workers: WorkerPool, script: Script, bell: Bell) -> None:
    def refuse(job: Job) -> None:
        raise EngineRefused("busy")

    script.acts["stop"] = refuse
    workers.start([Action("stop", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    first = workers.next_try_in()
    assert first is not None and 0.2 < first <= 0.5
    workers.start([Action("stop", wanted())], time.monotonic())
    assert script.begun == ["stop"], "not before its time"
    time.sleep(first + 0.01)
    workers.start([Action("stop", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 2)
    second = workers.next_try_in()
    assert second is not None and 0.6 < second <= 1.0


def test_absence_is_told_until_nobody_asks(workers: WorkerPool, bell: Bell) -> None:
    workers.start([Action("remove", wanted(run="gone"))], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    workers.forget_absent([ID, "b"])
    assert workers.absent == {ID}
    workers.forget_absent([])
    assert workers.absent == frozenset()


def test_an_older_view_says_nothing_about_what_was_done_since(workers: WorkerPool, script: Script, bell: Bell) -> None:
    """Looked at, then created and passed: planned from the old look it would be made twice, told from it it has vanished."""
    script.acts["create"] = lambda job: job.report("testing")
    seen_at = time.monotonic()
    workers.start([Action("create", wanted())], seen_at)
    bell.wait_for(lambda: not workers.at_work())
    assert workers.busy(seen_at) == {ID: JobPhase("testing")}
    workers.start([Action("create", wanted())], seen_at)
    assert script.begun == ["create"]
    assert workers.busy(time.monotonic()) == {}
    workers.start([Action("discard", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 2)
    assert script.begun == ["create", "discard"]
