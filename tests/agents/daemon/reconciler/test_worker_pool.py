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
from agents.protocol.sentences import say

ID = "a" * 32
PATIENCE = 60.0


def wanted(run: Any = "running", generation: int = 1, fence: int = 1) -> DesiredInstance:
    return DesiredInstance(ID, generation, fence, run, "i")


class Script:
    """Steps that do what the test says."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.acts: dict[str, Callable[[Job], None]] = {}

    def carry_out(self, job: Job) -> None:
        self.begun.append(job.action.kind)
        act = self.acts.get(job.action.kind)
        if act is not None:
            act(job)


class Bell:
    """Counts the crew's words that something changed."""

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
def crew(script: Script, bell: Bell, journal: Journal) -> Iterator[WorkerPool]:
    yield WorkerPool(steps=script, journal=journal, inline=False, changed=bell)  # type: ignore[arg-type]  # a script for steps


def test_one_job_at_a_time(crew: WorkerPool, script: Script, bell: Bell) -> None:
    go_on = threading.Event()

    def create(job: Job) -> None:
        job.say("creating", say("making_system_disk"))
        go_on.wait(PATIENCE)

    script.acts["create"] = create
    crew.begin([Action("create", wanted())], time.monotonic())
    bell.wait_for(lambda: crew.busy(math.inf) == {ID: JobPhase("creating", say("making_system_disk"))})
    crew.begin([Action("start", wanted())], time.monotonic())
    assert script.begun == ["create"]
    go_on.set()
    bell.wait_for(lambda: not crew.at_work())
    crew.begin([Action("start", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 2)
    assert script.begun == ["create", "start"]


def test_a_job_for_what_is_no_longer_wanted_ends_at_its_next_step(crew: WorkerPool, script: Script, bell: Bell) -> None:
    cancelled, ends = threading.Event(), []

    def create(job: Job) -> None:
        cancelled.wait(PATIENCE)
        try:
            job.check()
        except Superseded:
            ends.append("superseded")
            raise

    script.acts["create"] = create
    crew.begin([Action("create", wanted())], time.monotonic())
    crew.cancel_outdated({ID: wanted()})
    crew.cancel_outdated({ID: wanted(run="stopped")})
    cancelled.set()
    bell.wait_for(lambda: not crew.at_work())
    assert ends == ["superseded"]


@pytest.mark.parametrize("hangs", ["stop", "create"])
def test_fault_041_a_removal_passes_what_hangs(crew: WorkerPool, script: Script, bell: Bell, hangs: Any) -> None:
    hanging, let_go, touched = threading.Event(), threading.Event(), []

    def hang(job: Job) -> None:
        with job.passable():
            hanging.set()
            let_go.wait(PATIENCE)
        touched.append("after the wait")

    script.acts[hangs] = hang
    crew.begin([Action(hangs, wanted(run="stopped" if hangs == "stop" else "running"))], time.monotonic())
    assert hanging.wait(PATIENCE)
    crew.begin([Action("remove", wanted(run="gone", fence=2))], time.monotonic())
    bell.wait_for(lambda: crew.absent == {ID})
    let_go.set()
    bell.wait_for(lambda: bell.urgent == 2)
    assert touched == [], "the one that was passed changes nothing any more"


def test_a_removal_waits_for_what_does_not_hang(crew: WorkerPool, script: Script, bell: Bell) -> None:
    go_on = threading.Event()

    def create(job: Job) -> None:
        go_on.wait(PATIENCE)

    script.acts["create"] = create
    crew.begin([Action("create", wanted())], time.monotonic())
    crew.begin([Action("remove", wanted(run="gone"))], time.monotonic())
    assert script.begun == ["create"]
    go_on.set()
    bell.wait_for(lambda: not crew.at_work())


def test_a_failure_is_written_down(crew: WorkerPool, script: Script, bell: Bell, journal: Journal) -> None:
    def fail(job: Job) -> None:
        raise Failed("ssh_silent", "No banner.")

    script.acts["create"] = fail
    crew.begin([Action("create", wanted(generation=4))], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    entry = journal.entry(ID)
    assert (entry.failed, entry.failure_code, entry.failure_detail) == (4, "ssh_silent", "No banner.")


def test_nobody_wants_to_hear_of_a_cancelled_jobs_failure(
    crew: WorkerPool, script: Script, bell: Bell, journal: Journal
) -> None:
    def fail(job: Job) -> None:
        job.cancelled.set()
        raise Failed("ssh_silent", "No banner.")

    script.acts["create"] = fail
    crew.begin([Action("create", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    assert journal.entry(ID).failed == 0


def test_trouble_is_tried_again_later_and_ever_later(crew: WorkerPool, script: Script, bell: Bell) -> None:
    def refuse(job: Job) -> None:
        raise EngineRefused("busy")

    script.acts["stop"] = refuse
    crew.begin([Action("stop", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    first = crew.next_try_in()
    assert first is not None and 0.2 < first <= 0.5
    crew.begin([Action("stop", wanted())], time.monotonic())
    assert script.begun == ["stop"], "not before its time"
    time.sleep(first + 0.01)
    crew.begin([Action("stop", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 2)
    second = crew.next_try_in()
    assert second is not None and 0.6 < second <= 1.0


def test_absence_is_told_until_nobody_asks(crew: WorkerPool, bell: Bell) -> None:
    crew.begin([Action("remove", wanted(run="gone"))], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 1)
    crew.forget_absent([ID, "b"])
    assert crew.absent == {ID}
    crew.forget_absent([])
    assert crew.absent == frozenset()


def test_an_older_view_says_nothing_about_what_was_done_since(crew: WorkerPool, script: Script, bell: Bell) -> None:
    """Looked at, then created and passed: planned from the old look it would be made twice, told from it it has vanished."""
    script.acts["create"] = lambda job: job.say("testing")
    seen_at = time.monotonic()
    crew.begin([Action("create", wanted())], seen_at)
    bell.wait_for(lambda: not crew.at_work())
    assert crew.busy(seen_at) == {ID: JobPhase("testing")}
    crew.begin([Action("create", wanted())], seen_at)
    assert script.begun == ["create"]
    assert crew.busy(time.monotonic()) == {}
    crew.begin([Action("discard", wanted())], time.monotonic())
    bell.wait_for(lambda: bell.urgent == 2)
    assert script.begun == ["create", "discard"]
