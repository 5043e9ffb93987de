"""The steps against an engine that refuses, stalls, lies or is full: every failure has its code, and nothing runs on."""

import errno
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks.loop_disks import DiskCommandFailed, DiskFull, DiskMissing, SimulatedDisks
from agents.daemon.engine.interface import Container, ContainerOrder, EngineRefused, ImageRequest, PullStalled
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.gpu.benchmark import BurnInFailed, NotMeasurable
from agents.daemon.gpu.claims import GpuClaims
from agents.daemon.gpu.wipe import GpuWiper
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.journal import Entry, Journal
from agents.daemon.reconciler.access_folder import AccessFolders
from agents.daemon.reconciler.actions import ActionExecutor, Limits
from agents.daemon.reconciler.jobs import Job, JobPhase
from agents.daemon.reconciler.plan import Action, Kind
from agents.protocol.codes import FAILURES
from agents.protocol.messages import DesiredInstance
from agents.protocol.progress_messages import say

ID = "a" * 32
WANTED = DesiredInstance(ID, 1, 1, "running", "i", gpu_uuids=["GPU-1"], data_disk_gb=1, ports=[(22, 40000)])


class Engine(SimulatedRuntime):
    """A simulated engine whose answers a test can change."""

    instant = False
    images = True
    ssh = True
    gpus: frozenset[str] | None = None
    pull: Callable[[threading.Event], None] = staticmethod(lambda cancelled: None)
    refuse_create: EngineRefused | None = None
    refuse_start: EngineRefused | None = None

    def has_image(self, reference: str) -> bool:
        return self.images

    def pull_image(self, pull: ImageRequest, cancelled: threading.Event) -> None:
        pull.said(say("receiving"), ())
        self.pull(cancelled)

    def create(self, order: ContainerOrder) -> str:
        if self.refuse_create is not None:
            error, self.refuse_create = self.refuse_create, None
            raise error
        return super().create(order)

    def start(self, container: str) -> None:
        if self.refuse_start is not None:
            raise self.refuse_start
        super().start(container)

    def ssh_answers(self, host_port: int, container: str) -> bool:
        return self.ssh

    def visible_gpus(self, container: str) -> frozenset[str]:
        return super().visible_gpus(container) if self.gpus is None else self.gpus


class Disks(SimulatedDisks):
    trouble: Exception | None = None
    missing = False

    def __init__(self) -> None:
        self.made: list[str] = []

    def make(self, instance: str, size_gb: int) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.made.append(instance)

    def mount(self, instance: str) -> Path:
        if self.missing:
            raise DiskMissing("it is not there")
        return super().mount(instance)


class Bench:
    """Steps on such an engine."""

    def __init__(self, folder: Path) -> None:
        self.engine = Engine(folder / "simulated.json", boot="b")
        self.disks = Disks()
        self.journal = Journal(folder / "journal", durable=False)
        self.access = AccessFolders(folder / "access")
        self.heard: list[JobPhase | None] = []
        self.limits = Limits(40000, 40999, ssh_deadline_s=0.1)

    def steps(self) -> ActionExecutor:
        return ActionExecutor(
            runtime=self.engine, disks=self.disks, access=self.access, journal=self.journal, limits=self.limits
        )

    def job(self, kind: Kind, desired: DesiredInstance = WANTED) -> Job:
        own = sorted(self.engine.containers(desired.id), key=lambda item: -item.generation)
        job = Job(Action(kind, desired, tuple(own)), lambda urgent: self.heard.append(job.busy))
        return job

    def run(self, kind: Kind, desired: DesiredInstance = WANTED) -> None:
        self.steps().run(self.job(kind, desired))

    def failure(self, kind: Kind = "create", desired: DesiredInstance = WANTED) -> Failed:
        with pytest.raises(Failed) as caught:
            self.run(kind, desired)
        assert caught.value.code in FAILURES
        assert not any(item.status == "running" for item in self.engine.containers(desired.id)), "nothing runs on unpaid"
        return caught.value

    def containers(self) -> list[Container]:
        return self.engine.containers(ID)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_phases_of_a_creation(bench: Bench) -> None:
    bench.engine.images = False
    bench.run("create")
    assert [item[0] for item in bench.heard if item] == ["pulling", "pulling", "creating", "testing"]
    assert bench.journal.entry(ID).accepted == 1


def test_a_missing_image_and_no_pulling(bench: Bench) -> None:
    bench.engine.images, bench.limits = False, replace(bench.limits, local_images=True)
    assert bench.failure().code == "image_missing"


@pytest.mark.parametrize(
    ("error", "code"),
    [(EngineRefused("manifest unknown"), "image_missing"), (PullStalled("no bytes"), "image_pull_timeout")],
)
def test_fault_037_an_image_that_does_not_come(bench: Bench, error: Exception, code: str) -> None:
    def pull(cancelled: threading.Event) -> None:
        raise error

    bench.engine.images, bench.engine.pull = False, pull
    assert bench.failure().code == code


def test_a_pull_that_is_cancelled_leaves_nothing(bench: Bench) -> None:
    bench.engine.images = False
    bench.engine.pull = lambda cancelled: cancelled.set()
    with pytest.raises(Superseded):
        bench.run("create")
    assert bench.containers() == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EngineRefused("invalid spec"), "create_failed"),
        (EngineRefused("mkdir /x: no space left on device"), "disk_full"),
    ],
)
def test_an_engine_that_refuses_the_container(bench: Bench, error: EngineRefused, code: str) -> None:
    bench.engine.refuse_create = error
    failure = bench.failure()
    assert (failure.code, failure.detail) == (code, str(error))


def test_an_engine_that_wants_the_network_first(bench: Bench) -> None:
    bench.engine.refuse_create = EngineRefused("network not found", missing=True)
    bench.run("create")
    assert len(bench.containers()) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DiskFull("x"), "disk_full"),
        (DiskCommandFailed("mount: only root can do that"), "create_failed"),
        (OSError(errno.EROFS, "Read-only file system"), "create_failed"),
        (OSError(errno.EIO, "Input/output error"), "create_failed"),
    ],
)
def test_fault_034_a_host_without_room(bench: Bench, error: Exception, code: str) -> None:
    bench.disks.trouble = error
    assert bench.failure().code == code
    assert bench.containers() == []


def test_a_network_that_cannot_be_made(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(instance: str) -> None:
        raise EngineRefused("no free network")

    monkeypatch.setattr(bench.engine, "make_network", refuse)
    assert bench.failure().detail == "no free network"


def test_fault_040_a_port_that_is_taken(bench: Bench) -> None:
    bench.engine.refuse_start = EngineRefused("port is already allocated")
    assert bench.failure().code == "start_failed"


def test_a_silent_ssh(bench: Bench) -> None:
    bench.engine.ssh = False
    assert bench.failure().code == "ssh_silent"
    assert bench.journal.entry(ID).accepted == 0


def test_a_container_that_ends_while_it_is_tested(bench: Bench) -> None:
    bench.engine.ssh = False
    bench.limits = replace(bench.limits, ssh_deadline_s=30)
    threading.Timer(0.05, lambda: bench.engine.kill(bench.containers()[0].id)).start()
    failure = bench.failure()
    assert failure.code == "start_failed"
    assert "137" in failure.detail


def test_silence_in_a_root_of_the_renters_own_is_no_failure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed start is free: one that a renter can bring about at will would be use of the GPUs for nothing."""
    monkeypatch.setattr("agents.daemon.reconciler.acceptance_test.OWN_ROOT_PATIENCE_S", 0.05)
    bench.engine.ssh, bench.limits = False, replace(bench.limits, ssh_deadline_s=3600)
    bench.run("create", replace(WANTED, untouched=False))
    assert [item.status for item in bench.containers()] == ["running"]
    assert bench.journal.entry(ID).accepted == 1


def test_a_failure_is_written_down_before_the_container_is_stopped(bench: Bench) -> None:
    """An agent that follows on one that was killed in between must not take that signal for somebody else's."""
    seen: list[str] = []
    stop = bench.engine.stop

    def stop_and_look(container: str, grace_s: int) -> None:
        seen.append(bench.journal.entry(ID).failure_code)
        stop(container, grace_s)

    bench.engine.ssh, bench.engine.stop = False, stop_and_look  # type: ignore[method-assign]
    bench.failure()
    assert seen == ["ssh_silent"]


@pytest.mark.parametrize("seen", [frozenset(), frozenset({"GPU-1", "GPU-2"}), frozenset({"GPU-2"})])
def test_exactly_the_leased_gpus_are_visible(bench: Bench, seen: frozenset[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.daemon.reconciler.acceptance_test.GPU_PATIENCE", 0.05)
    bench.engine.gpus = seen
    assert bench.failure().code == "gpu_not_visible"


def test_the_fourth_wall(bench: Bench) -> None:
    bench.run("create")
    rival = replace(WANTED, id="b" * 32)
    assert bench.failure("create", rival).code == "gpu_conflict"
    assert bench.containers()[0].status == "running"


@pytest.mark.parametrize(
    ("error_code", "expected"), [("up", ["gpu_conflict", "started"]), ("down", ["met", "met", "started", "started"])]
)
def test_the_fourth_wall_between_two_starts_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error_code: str, expected: list[str]
) -> None:
    """Neither runs yet when the other is checked: the claim decides. With the wall down both start."""
    if error_code == "down":
        monkeypatch.setattr(GpuClaims, "claimed", lambda *_: nullcontext())
    inside, outcome = threading.Barrier(2), []
    really = bench.engine.start

    def start(container: str) -> None:
        try:
            inside.wait(0.5)  # only one gets here; two would meet
            outcome.append("met")
        except threading.BrokenBarrierError:
            pass
        really(container)

    monkeypatch.setattr(bench.engine, "start", start)
    steps = bench.steps()

    def run(desired: DesiredInstance) -> None:
        try:
            steps.run(bench.job("create", desired))
            outcome.append("started")
        except Failed as failure:
            outcome.append(failure.code)

    threads = [threading.Thread(target=run, args=(replace(WANTED, id=key * 32),)) for key in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome) == expected


def test_a_data_disk_is_made_once_and_a_lost_one_is_told(bench: Bench) -> None:
    """By the agent's own journal: an older control plane does not say that there was a disk."""
    bench.run("create")
    bench.engine.stop(bench.containers()[0].id, 0)
    bench.disks.missing = True
    failure = bench.failure("advance", replace(WANTED, generation=2))
    assert (failure.code, bench.disks.made) == ("data_disk_missing", [ID])
    bench.disks.missing = False
    bench.run("advance", replace(WANTED, generation=3))
    assert bench.disks.made == [ID]


def test_a_data_disk_that_the_control_plane_knows_of_is_not_made(bench: Bench) -> None:
    """The agent's journal is gone: the disk may be, too."""
    bench.disks.missing = True
    assert bench.failure(desired=replace(WANTED, data_disk_made=True)).code == "data_disk_missing"
    assert bench.disks.made == []


@pytest.mark.parametrize("port", [22, 39999, 41000])
def test_a_port_beyond_the_hosts_range_is_not_bound(bench: Bench, port: int) -> None:
    failure = bench.failure(desired=replace(WANTED, ports=[(22, port)]))
    assert (failure.code, str(port) in failure.detail) == ("create_failed", True)
    assert bench.containers() == []


def test_the_first_and_the_last_port_of_the_hosts_range_are_its_own(bench: Bench) -> None:
    bench.run("create", replace(WANTED, ports=[(22, 40000), (8888, 40999)]))
    assert bench.journal.entry(ID).accepted == 1


def test_a_lost_root_is_never_replaced_by_a_fresh_one(bench: Bench) -> None:
    bench.journal.record({ID: Entry(fence=1, generation=1, accepted=1)})
    failure = bench.failure("create", replace(WANTED, generation=2))
    assert failure.code == "root_lost"
    assert "root" in failure.detail


@pytest.mark.parametrize("kind", ["create", "reimage"])
def test_a_root_that_the_control_plane_knows_of_is_not_made_anew(bench: Bench, kind: Kind) -> None:
    """The agent's journal is gone, and so is the container."""
    assert bench.failure(kind, replace(WANTED, root_made=True)).code == "root_lost"
    assert bench.containers() == []


def test_a_saved_root_is_used_when_the_container_is_gone(bench: Bench) -> None:
    bench.run("create")
    bench.engine.save_root(bench.containers()[0].id, ID, 1)
    bench.engine.remove(bench.containers()[0].id)
    bench.run("create", replace(WANTED, generation=2))
    assert [item.generation for item in bench.containers()] == [2]


def test_removal_is_not_done_until_nothing_is_left(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run("create")
    monkeypatch.setattr(bench.disks, "leftovers", lambda instance: ["data disk x"])
    with pytest.raises(EngineRefused, match="still there: data disk x"):
        bench.run("remove", replace(WANTED, run="gone"))
    monkeypatch.undo()
    bench.run("remove", replace(WANTED, run="gone"))
    assert bench.steps().leftovers(ID) == []


def test_two_pulls_at_once_and_a_third_waits(bench: Bench) -> None:
    gate, at_work, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def pull(cancelled: threading.Event) -> None:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        gate.wait(5)
        with lock:
            at_work[0] -= 1

    bench.engine.images, bench.engine.pull = False, pull
    steps = bench.steps()
    orders = [replace(WANTED, id=key * 32, gpu_uuids=[], ports=[]) for key in "abc"]
    threads = [threading.Thread(target=steps.run, args=(bench.job("create", order),)) for order in orders]
    for thread in threads:
        thread.start()
    threading.Timer(0.2, gate.set).start()
    for thread in threads:
        thread.join()
    assert most[0] == 2
    assert len(bench.engine.containers()) == 3


def test_the_error_number_of_a_full_disk_is_what_is_looked_for() -> None:
    """The engine hands the kernel's words on; they must stay what the steps compare with."""
    assert os.strerror(errno.ENOSPC).lower() == "no space left on device"


def test_steps_are_made_for_every_kind_of_action(bench: Bench) -> None:
    bench.run("create")
    for kind, change in (
        ("test", {}),
        ("refresh", {"ssh_keys": ["k"]}),
        ("stop", {"run": "stopped"}),
        ("advance", {"generation": 2}),
        ("replace", {"generation": 3, "gpu_uuids": ["GPU-2"]}),
        ("discard", {"generation": 3, "gpu_uuids": ["GPU-2"]}),
        ("remove", {"generation": 3, "run": "gone"}),
    ):
        desired: Any = replace(WANTED, **change)
        if kind == "discard":
            job = bench.job("discard", desired)
            job = Job(replace(job.action, containers=job.action.containers[1:]), lambda urgent: None)
            bench.steps().run(job)
            assert [item.generation for item in bench.containers()] == [3]
        else:
            bench.run(kind, desired)  # type: ignore[arg-type]  # of the table above
    assert bench.containers() == []


def test_a_re_image_that_is_taken_back_leaves_what_the_former_root_stands_on(bench: Bench) -> None:
    """Its container goes; the saved root of the one that runs again is the only way back should the engine lose that."""
    bench.run("create")
    second = replace(WANTED, generation=2, gpu_uuids=["GPU-2"])
    bench.run("replace", second)
    saved = bench.engine.saved_root(ID)
    assert saved is not None
    outdated = bench.job("discard", second)
    bench.steps().run(Job(replace(outdated.action, containers=outdated.action.containers[1:]), lambda urgent: None))
    bench.run("reimage", replace(second, generation=3, root=1))
    back = replace(second, generation=4)
    own = {item.root: item for item in bench.containers()}
    bench.steps().run(Job(Action("advance", back, (own[0], own[1])), lambda urgent: None))
    bench.steps().run(Job(Action("discard", back, (own[1],)), lambda urgent: None))
    assert [(item.generation, item.root) for item in bench.containers()] == [(4, 0)]
    assert bench.engine.saved_root(ID) == saved


def test_fault_055_a_gpu_is_empty_before_the_next_container_starts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order, whatever ended the one before; what the same instance left there itself is its own."""
    messages: list[str] = []
    left = [2, 1, 0]

    def processes(uuid: str) -> int:
        messages.append("asked")
        return left.pop(0) if left else 0

    def start(container: str) -> None:
        messages.append("started")
        SimulatedRuntime.start(bench.engine, container)

    monkeypatch.setattr(bench.engine, "start", start)
    wipes = GpuWiper(processes, lambda uuid: messages.append(f"wiped {uuid}"))
    steps = ActionExecutor(
        runtime=bench.engine,
        disks=bench.disks,
        access=bench.access,
        journal=bench.journal,
        limits=bench.limits,
        wipes=wipes,
    )
    again, other = replace(WANTED, generation=2), replace(WANTED, id="b" * 32)
    steps.run(bench.job("create"))
    bench.engine.stop(bench.containers()[0].id, 0)
    steps.run(bench.job("start", again))
    bench.engine.remove(bench.containers()[0].id)
    steps.run(bench.job("create", other))
    assert messages == [*(["asked"] * 3), "wiped GPU-1", "started", "started", "asked", "wiped GPU-1", "started"]


@pytest.mark.parametrize(
    ("processes", "trouble", "code"),
    [
        (1, None, "gpu_conflict"),
        (0, BurnInFailed("it stays"), "start_failed"),
        (0, NotMeasurable("no CUDA"), ""),
        (None, None, ""),
    ],
)
def test_fault_055_a_gpu_that_is_not_empty_starts_nothing(
    bench: Bench, processes: int | None, trouble: Exception | None, code: str
) -> None:
    def wipe(uuid: str) -> None:
        if trouble is not None:
            raise trouble

    wipes = GpuWiper(lambda uuid: processes, wipe, end_within_s=0.0)
    with pytest.raises(Failed) if code else nullcontext() as failed:
        wipes.prepare(WANTED)
    assert not code or failed.value.code == code  # type: ignore[union-attr]
