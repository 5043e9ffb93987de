"""A renter's whims and crashes at every step, at random, through the real steps on the simulated runtime.

Each life of the agent starts from what is on disk, like a new process. Whatever happened before, the last one ends where
the control plane wants it: one container, with the renter's root, on the leased GPUs, or nothing at all.
"""

import math
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agents.daemon.disks.loop_disks import SimulatedDisks
from agents.daemon.engine.interface import ContainerOrder
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.lib.journal import EndedBy, Journal
from agents.daemon.reconciler.access_folder import AccessFolders
from agents.daemon.reconciler.actions import ActionExecutor, Limits
from agents.daemon.reconciler.exit_causes import ExitCauses
from agents.daemon.reconciler.fencing import filter_stale
from agents.daemon.reconciler.plan import Observed, plan
from agents.daemon.reconciler.report_phases import row_of
from agents.daemon.reconciler.worker_pool import WorkerPool
from agents.protocol.messages import DesiredInstance

GPUS = ["GPU-1", "GPU-2", "GPU-3"]
INSTANCES = [f"{number:032x}" for number in range(1, 3)]
WHIMS = ["", "restart", "reimage", *GPUS]
ENDED_CODES: dict[EndedBy, str] = {"itself": "exited", "host": "killed", "engine": "engine_restarted"}
POINTS = 9  # the longest action passes this many checkpoints


class Crash(BaseException):
    """The process is gone: nothing may catch this."""


class Recorder(SimulatedRuntime):
    """Tells of every container that is made from a fresh image although its instance has run on this root before."""

    ever_ran: set[tuple[str, int]]
    lost_roots: list[str]

    def create(self, order: ContainerOrder) -> str:
        if order.image == "fresh" and (order.desired.id, order.desired.root) in self.ever_ran:
            self.lost_roots.append(order.desired.id)
        return super().create(order)


class AgentMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="berth-crash-"))
        self.lost_roots: list[str] = []
        self.wanted: dict[str, DesiredInstance] = {}
        self.ever_ran: set[tuple[str, int]] = set()  # instance and root
        self.ended: set[tuple[str, int]] = set()  # what really ended by itself: instance and generation
        self.ended_codes: dict[tuple[str, int], str] = {}
        self.lost: set[str] = set()  # whose containers somebody removed
        self.countdown: int | None = None
        self.boot()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def boot(self) -> None:
        self.runtime = Recorder(self.folder / "simulated.json", boot="same")
        self.runtime.ever_ran, self.runtime.lost_roots = self.ever_ran, self.lost_roots
        self.journal = Journal(self.folder / "journal", durable=False)
        self.access = AccessFolders(self.folder / "access")
        steps = ActionExecutor(
            runtime=self.runtime,
            disks=SimulatedDisks(),
            access=self.access,
            journal=self.journal,
            limits=Limits(port_first=40000, port_last=40999),
            checkpoint=self.checkpoint,
        )
        self.workers = WorkerPool(steps=steps, journal=self.journal, inline=True, changed=lambda urgent: None)

    def checkpoint(self, name: str) -> None:
        if self.countdown is not None:
            self.countdown -= 1
            if self.countdown < 0:
                raise Crash(name)

    @rule(instance=st.sampled_from(INSTANCES), gpu=st.sampled_from(GPUS))
    def rent_or_start(self, instance: str, gpu: str) -> None:
        now = self.wanted.get(instance)
        if now is not None and now.run == "gone":
            return
        if any(gpu in other.gpu_uuids for other in self.wanted.values() if other.run == "running" and other.id != instance):
            return  # the market never leases a GPU twice
        rivals = [item for other in INSTANCES if other != instance for item in self.runtime.containers(other)]
        if any(gpu in item.gpu_uuids for item in rivals if item.status == "running"):
            return  # nor one whose last container is not proven stopped
        self.wanted[instance] = DesiredInstance(
            id=instance,
            generation=now.generation + 1 if now else 1,
            fence=now.fence + 1 if now else 1,
            run="running",
            image="fresh",
            gpu_uuids=[gpu],
            root=now.root if now else 0,
            ports=[(22, 40000 + INSTANCES.index(instance))],
        )

    @rule(instance=st.sampled_from(INSTANCES))
    def restart(self, instance: str) -> None:
        now = self.wanted.get(instance)
        if now is not None and now.run == "running":
            self.wanted[instance] = replace(now, generation=now.generation + 1)

    @rule(instance=st.sampled_from(INSTANCES))
    def reimage(self, instance: str) -> None:
        """A fresh root: of a running one at once, of a stopped one with its next start."""
        now = self.wanted.get(instance)
        if now is not None and now.run != "gone":
            begun = now.generation + (now.run == "running")
            self.wanted[instance] = replace(now, root=now.root + 1, generation=begun)

    @rule(instance=st.sampled_from(INSTANCES), run=st.sampled_from(["stopped", "gone"]))
    def stop_or_release(self, instance: str, run: Any) -> None:
        if instance in self.wanted and self.wanted[instance].run != "gone":
            # The lease ends when the host has proved the stop; here the next rule may come at once, so settle first.
            self.wanted[instance] = replace(self.wanted[instance], run=run)
            self.turns()

    @rule(instance=st.sampled_from(INSTANCES), by=st.sampled_from(list(ENDED_CODES)))
    def end(self, instance: str, by: EndedBy) -> None:
        for item in self.runtime.containers(instance):
            if item.status == "running":
                self.runtime.kill(item.id, ended_by=by)
                self.ended.add((instance, item.generation))
                self.ended_codes[instance, item.generation] = ENDED_CODES[by]

    @rule(instance=st.sampled_from(INSTANCES))
    def removed_by_the_owner(self, instance: str) -> None:
        """Behind the agent's back, with the engine's own tools."""
        for item in self.runtime.containers(instance):
            self.runtime.remove(item.id)
            self.ended.add((instance, item.generation))
            self.lost.add(instance)

    @rule()
    def turns(self) -> None:
        for _ in range(6):
            self.turn()

    @precondition(lambda self: self.wanted)
    @rule(
        instance=st.sampled_from(INSTANCES), whim=st.sampled_from(WHIMS), after=st.integers(0, POINTS), quiet=st.booleans()
    )
    def crash(self, instance: str, whim: str, after: int, quiet: bool) -> None:
        """At some checkpoint of the work that follows from a whim; perhaps again before anything has settled."""
        if whim == "restart":
            self.restart(instance)
        elif whim == "reimage":
            self.reimage(instance)
        elif whim:
            self.rent_or_start(instance, whim)
        self.countdown = after
        try:
            self.turns()
        except Crash:
            pass
        finally:
            self.countdown = None
        self.boot()
        if quiet:
            self.settle()

    def turn(self) -> None:
        verdict = filter_stale(list(self.wanted.values()), self.journal.entries())
        assert not verdict.refused
        self.journal.record(verdict.changes)
        observed = Observed(
            containers=self.runtime.containers(),
            entries=self.journal.entries(),
            absent=self.workers.absent,
            access={key: self.access.digest(key) for key in self.wanted},
        )
        self.workers.start(plan(verdict.accepted, observed), math.inf)
        self.ever_ran.update((key, entry.root) for key, entry in self.journal.entries().items() if entry.accepted)

    @invariant()
    def gpus_are_never_shared(self) -> None:
        held = [gpu for item in self.runtime.containers() if item.status == "running" for gpu in item.gpu_uuids]
        assert len(held) == len(set(held))

    @invariant()
    def one_instance_never_runs_twice(self) -> None:
        alive = [item.instance for item in self.runtime.containers() if item.status == "running"]
        assert len(alive) == len(set(alive))

    @invariant()
    def a_root_that_was_used_is_never_replaced_by_a_fresh_one(self) -> None:
        assert self.lost_roots == []

    @rule()
    def settle(self) -> None:
        """After a few quiet turns everything is as it should be."""
        self.turns()
        for instance, desired in self.wanted.items():
            own = self.runtime.containers(instance)
            if desired.run == "gone":
                assert own == [] and instance in self.workers.absent
                continue
            ExitCauses(self.runtime, self.journal).settle(own)
            row = row_of(instance, self.journal.entry(instance), own)
            if desired.run == "stopped":
                assert row.phase == "stopped"
            elif row.phase == "exited":
                assert (instance, desired.generation) in self.ended
                assert row.failure_code in ("removed", self.ended_codes.get((instance, desired.generation)))
            elif row.phase == "failed":
                assert instance in self.lost and row.failure_code == "root_lost"
            else:
                assert (row.phase, row.generation) == ("running", desired.generation)
                assert [(item.gpu_uuids, item.root) for item in own] == [(tuple(desired.gpu_uuids), desired.root)]


AgentMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
TestAgentMachine = AgentMachine.TestCase
