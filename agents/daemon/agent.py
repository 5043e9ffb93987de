"""Main loop of the agent: observe, report, receive, plan, act; each pass repairs what was lost."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agents.daemon import __version__
from agents.daemon.control_plane.http_client import Backoff, Link, LinkError, WaitTarget
from agents.daemon.control_plane.revocation import stop_revoked_agent
from agents.daemon.disks.operation_runner import Operations
from agents.daemon.disks.volume_store import SimulatedVolumes, Volumes
from agents.daemon.docker_engine.container_spec import container_name
from agents.daemon.engine.interface import Container, EngineRefused, EngineSilent, Runtime
from agents.daemon.engine.ssh_interface import SimulatedSshGateway, SshGateway
from agents.daemon.lib.journal import Entry, Journal
from agents.daemon.lib.sync_primitives import LatestValue, WakeupEvent
from agents.daemon.reconciler.access_folder import AccessFolders
from agents.daemon.reconciler.actions import ActionExecutor
from agents.daemon.reconciler.epochs import Epochs, quarantine_orders
from agents.daemon.reconciler.exit_causes import ExitCauses
from agents.daemon.reconciler.fencing import FencingResult, validate_early_order
from agents.daemon.reconciler.image_prefetch import ImagePrefetcher
from agents.daemon.reconciler.launch_watch import LaunchWatch
from agents.daemon.reconciler.plan import Observed, plan
from agents.daemon.reconciler.report_phases import View, by_instance, comparable_part, remembered, row_of, unknown_row
from agents.daemon.reconciler.worker_pool import WorkerPool
from agents.daemon.self_test.runner import SelfTester
from agents.daemon.streams.stream_server import StreamServer
from agents.daemon.telemetry.sampler import Telemetry
from agents.protocol.messages import DesiredInstance, DesiredState, HostFacts, Report, WaitAnswer
from agents.protocol.version import SUPPORTED

logger = logging.getLogger(__name__)

UNKNOWN_AFTER = 10.0  # seconds without an answer from the engine after which phases are reported as unknown
FACTS_EVERY = 30.0
VIEW_MAX_AGE = 5.0  # age in seconds up to which a view of the engine is reused, if nothing says that it changed
CAUSE_RETRY = 1.0  # seconds until the engine is asked again who ended a container, if it did not say
PROGRESS_DELAY = 0.2  # seconds that a report of progress may wait, so that a start does not cost one report per step


@dataclass(frozen=True)
class AgentComponents:
    """Components from which an agent is built."""

    link: Link
    runtime: Runtime
    journal: Journal
    access: AccessFolders
    steps: ActionExecutor
    telemetry: Telemetry
    gather: Callable[[], HostFacts]
    self_tester: SelfTester
    operations: Operations
    prefetch: ImagePrefetcher
    launches: LaunchWatch
    volumes: Volumes = field(default_factory=SimulatedVolumes)
    streams: StreamServer = field(default_factory=StreamServer)
    bridge: SshGateway = field(default_factory=SimulatedSshGateway)


class Agent:
    """One host's agent. `run` returns after `stop`."""

    def __init__(self, parts: AgentComponents) -> None:
        self.parts = parts
        self._alarm = WakeupEvent()
        self._wait_target = LatestValue[WaitTarget]()
        self._stopped = threading.Event()
        self._backoff = Backoff()
        self._workers = WorkerPool(parts.steps, parts.journal, inline=parts.runtime.instant, changed=self._wake_for_job)
        parts.self_tester.changed = self._wake_for_facts
        parts.operations.changed = self._wake_for_job
        parts.launches.changed = self._alarm.ring
        self._endings = ExitCauses(parts.runtime, parts.journal)
        self._epochs = Epochs(parts.journal)
        self._containers: list[Container] = []
        self._answered_at = time.monotonic()
        self._look_wanted = self._sync_wanted = True
        self._desired: dict[str, DesiredInstance] | None = None  # None: not received since this start
        self._named: frozenset[str] = frozenset()
        self._newest: DesiredState | None = None
        self._answer: WaitAnswer | None = None
        self._interval = 20.0
        self._sync_not_before = self._synced_at = self._facts_at = 0.0
        self._acknowledged: tuple[Any, ...] | None = None  # what the control plane last acknowledged
        self._facts: HostFacts | None = None
        self._acknowledged_facts: HostFacts | None = None
        self._facts_wanted = self._revoked = False

    def run(self) -> None:
        self._prepare()
        threading.Thread(target=self._wait_for_changes, name="wait", daemon=True).start()
        threading.Thread(target=self.parts.runtime.watch, args=(self._wake_to_observe, self._stopped), daemon=True).start()
        self.parts.telemetry.start(self._wake_for_facts, self._stopped)
        self.parts.prefetch.start(self._stopped)
        while not self._stopped.is_set():
            if not self._run_pass():
                self._alarm.sleep(self._idle_time())
        self.parts.launches.stop()
        self.parts.bridge.stop()
        self.parts.streams.stop()
        self.parts.link.close()
        self.parts.runtime.close()

    def run_once(self) -> None:
        """Sync once, do the work that follows, and report the outcome. Raises LinkError."""
        self._prepare()
        self._sync(self._observe())
        workers = (self._workers, self.parts.self_tester, self.parts.operations)
        while self._act(self._observe()) or any(part.at_work() for part in workers):
            self._alarm.sleep(0.05)
        self._refresh_facts()
        self._sync(self._observe())

    def sync_without_work(self) -> DesiredState:
        """Sync once without any work, and return the market's answer. Raises LinkError."""
        self._prepare()
        return self.parts.link.sync(self._report(self._observe(), full=True))

    def stop(self) -> None:
        """End the loop; every container is left as it is."""
        self._stopped.set()
        self.parts.self_tester.cancel()
        self.parts.operations.cancel()
        self._alarm.ring()
        self._wait_target.put(None)

    def _prepare(self) -> None:
        self.parts.runtime.secure()
        self._refresh_facts()

    def _run_pass(self) -> bool:
        """Run one pass; return whether another one should follow at once. Raises JournalLost."""
        self.parts.journal.check()
        if self._facts_wanted:
            self._refresh_facts()
        heeded = self._apply_early_order()
        view = self._observe()
        if heeded and self._act(view):
            return True  # done already: the sync that is due anyway reports the outcome
        if self._sync_due(view):
            try:
                self._sync(view)
            except LinkError as error:
                self._back_off(error)
        # The answer can change what is to be reported without any work: an ended container may now count as stopped by
        # order.
        worked = self._act(view) or self._sync_due(view)
        if not worked and time.monotonic() - self._facts_at > FACTS_EVERY:
            self.parts.runtime.secure()
            self._refresh_facts()
        return worked

    def _back_off(self, error: LinkError) -> None:
        if error.revoked and not self._revoked:
            self._revoked, self._newest = True, stop_revoked_agent(self.parts, self._newest)
        delay = self._backoff.next_delay(error)
        self._sync_not_before = time.monotonic() + delay
        if not self._stopped.is_set():  # `stop` aborts a request on purpose
            logger.warning("%s; again in %.1f s", error, delay)

    def _wake_to_observe(self) -> None:
        self._look_wanted = True
        self._alarm.ring()

    def _wake_for_facts(self) -> None:
        """Have the facts refreshed, since a self-test that has ended may have measured some."""
        self._facts_wanted = True
        self._alarm.ring()

    def _held_gpus(self) -> frozenset[str]:
        """Return the GPUs that instances should have by the newest desired state."""
        wanted = (self._desired or {}).values()
        return frozenset(uuid for item in wanted if item.run == "running" for uuid in item.gpu_uuids)

    def _wake_for_job(self, urgent: bool) -> None:
        """Wake the loop, because a job ended (`urgent`) or made progress."""
        if urgent:
            self._wake_to_observe()
        else:
            self._alarm.ring(PROGRESS_DELAY)

    def _idle_time(self) -> float:
        now = time.monotonic()
        until_sync = max(self._synced_at + self._interval, self._sync_not_before) - now
        if self._sync_wanted:
            until_sync = self._sync_not_before - now
        until_retry = self._workers.next_try_in()
        return max(0.0, until_sync if until_retry is None else min(until_sync, until_retry))

    def _observe(self) -> View:
        """Return the present view, or one that is sure to hold: a container's start blocks its inspection."""
        if not self._look_wanted and time.monotonic() - self._answered_at < VIEW_MAX_AGE:
            return View(self._containers, self._answered_at)
        self._look_wanted = False
        asked_at = time.monotonic()
        try:
            self._containers = self.parts.runtime.containers()
            self._answered_at = asked_at
            if not self._endings.settle(self._containers):
                self._look_wanted = True
                self._alarm.ring(CAUSE_RETRY)
            return View(self._containers, asked_at)
        except (EngineSilent, EngineRefused) as error:
            self._look_wanted = True
            logger.warning("the container engine does not answer: %s", error)
            return View(self._containers, self._answered_at, time.monotonic() - self._answered_at)

    def _refresh_facts(self) -> None:
        self._facts_at, self._facts_wanted = time.monotonic(), False
        try:
            fresh = self.parts.telemetry.facts(self.parts.gather())
            if fresh != self._facts:
                self._facts = fresh
                self._alarm.ring()
        except (EngineSilent, EngineRefused) as error:
            logger.warning("no new facts: %s", error)

    def _sync_due(self, view: View) -> bool:
        now = time.monotonic()
        if now < self._sync_not_before:
            return False
        if self._sync_wanted or now >= self._synced_at + self._interval or self._facts != self._acknowledged_facts:
            return True
        return comparable_part(self._report(view)) != self._acknowledged

    def _sync(self, view: View) -> None:
        self._sync_wanted = False
        report = self._report(view, full=True)
        try:
            desired = self.parts.link.sync(report)
        except LinkError:
            self._sync_wanted = True
            raise
        self._backoff.reset()
        self._synced_at = time.monotonic()
        self._acknowledged, self._acknowledged_facts = comparable_part(report), self._facts
        view.acknowledge(self.parts.runtime, self._wake_to_observe)
        self.parts.telemetry.keep()
        if desired.need_facts and report.facts is None:
            self._acknowledged_facts, self._sync_wanted = None, True
        self._accept(desired, report, view)

    def _apply_early_order(self) -> bool:
        """Apply the early order that came with the relay's answer; return whether there was anything to do."""
        answer, self._answer = self._answer, None
        if answer is None or self._newest is None or self._desired is None or self._revoked:
            return False
        verdict = validate_early_order(answer, self._newest, self.parts.journal.entries())
        self._admit(verdict)
        fresh = {item.id: item for item in verdict.accepted}
        self._desired = {**self._desired, **fresh}
        self.parts.bridge.apply(self._desired.values())
        self._named |= fresh.keys()
        return bool(fresh)

    def _admit(self, verdict: FencingResult) -> None:
        for reason in verdict.refused:
            logger.warning("refused: %s", reason)
        self.parts.journal.record(verdict.changes, epoch=verdict.epoch)
        self.parts.runtime.guard(verdict.accepted)

    def _accept(self, desired: DesiredState, report: Report, view: View) -> None:
        verdict = self._epochs.filter_answer(desired, report, by_instance(view.containers))
        if verdict is None:
            self._desired, self._newest, self._sync_wanted = None, None, True
            return
        self._admit(verdict)
        self._desired = {item.id: item for item in verdict.accepted}
        self.parts.bridge.apply(self._desired.values())
        self._named = frozenset(item.id for item in desired.instances)
        self._workers.forget_absent(item.id for item in desired.instances if item.run == "gone")
        if desired.frozen and not (self._newest and self._newest.frozen):
            logger.warning("frozen by the control plane: nothing is changed on this host until it says otherwise")
        self._newest = desired
        self.parts.streams.apply(desired)
        self.parts.prefetch.apply(desired)
        if not desired.frozen:
            self.parts.self_tester.apply(desired.self_test, self._held_gpus)
            self.parts.operations.apply(desired.operations)
        self._interval = max(1.0, desired.report_interval_s)
        self._wait_target.put(WaitTarget(desired.wait_url, desired.version, desired.wait_ticket))

    def _act(self, view: View) -> bool:
        """Start what the plan says; return whether some of it is already done."""
        if self._desired is None:
            return False
        frozen = self._revoked or (self._newest is not None and self._newest.frozen)
        entries = self.parts.journal.entries()
        wanted = {**self._desired, **quarantine_orders(entries, self._named)}
        self._workers.cancel_outdated({} if frozen else wanted)
        if frozen or view.age_s > 0:
            return False  # the engine's present state is unknown, so nothing may be concluded from it
        self.parts.launches.follow(view.containers, self._desired, entries)
        observed = Observed(
            containers=view.containers,
            entries=entries,
            absent=self._workers.absent,
            access={instance: self.parts.access.digest(instance) for instance in self._desired},
        )
        return self._workers.start(plan(wanted.values(), observed), view.seen_at)

    def _report(self, view: View, *, full: bool = False) -> Report:
        """Return the report; `full` adds what is not compared, such as changed facts and samples."""
        entries, absent, own = self.parts.journal.entries(), self._workers.absent, by_instance(view.containers)
        named = self._named if self._desired is not None else remembered(entries, own)
        epoch = self._epochs.spoken(engine_answers=view.age_s == 0)
        samples = self.parts.telemetry.sample(c for c in view.containers if c.status == "running") if full else {}
        events, busy = self.parts.telemetry.gpu_events, self._workers.busy(view.seen_at)
        rows = [
            row_of(key, entries.get(key, Entry()), own.get(key, []), busy=busy.get(key), sample=samples.get(key))
            for key in sorted(named - absent)
        ]
        rows = [self.parts.launches.add_to(row) for row in rows]
        foreign = [container_name(c.instance, c.generation) for c in view.containers if c.instance not in named]
        return Report(
            agent_version=__version__,
            versions=list(SUPPORTED),
            facts=self._facts if full and self._facts != self._acknowledged_facts else None,
            instances=events.judged(rows) if view.age_s <= UNKNOWN_AFTER else [unknown_row(row) for row in rows],
            absent=sorted(absent & named),
            foreign=sorted(foreign),
            engine_age_s=round(view.age_s, 1),
            self_test=self.parts.self_tester.result(),
            operations=self.parts.operations.seen(),
            gpu_events=events.unreported() if full else [],
            disks=self.parts.volumes.use() if full else [],
            epoch=epoch,
            holdings=self._epochs.holdings(own, named, epoch) if full else [],
        )

    def _wait_for_changes(self) -> None:
        """Hold a request at the relay between syncs, and have the loop sync whenever it is answered."""
        backoff = Backoff()
        while (target := self._wait_target.get(self._stopped)) is not None:
            try:
                self._answer = self.parts.link.wait(target)
                backoff.reset()
            except LinkError as error:
                delay = backoff.next_delay(error)
                if not self._stopped.wait(delay):
                    logger.warning("%s; asked the control plane instead after %.1f s", error, delay)
            self._wait_target.put(None)  # the old counter would be answered at once; the next sync brings a new one
            self._sync_wanted = True
            self._alarm.ring()
        self.parts.link.close_waiting()
