"""A host on which each action is carried out once in peace, and then again and again, its agent killed at each step."""

import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from agents.daemon.docker_engine.container_spec import SYNC_HOST_LABEL, bridge_name
from agents.daemon.docker_engine.firewall import Firewall
from agents.daemon.enrolment import enrol
from agents.daemon.lib.config import AgentConfig
from agents.protocol.messages import DesiredInstance, ObservedOperation, OperationOrder
from tests.agents.daemon.market import Market
from tests.docker.conftest import PORTS, free_port
from tests.docker.kill_matrix import PATIENCE, Clock, Doomed, Machine, checksum
from tests.waiting import wait_until

GREETER: Final = "berth/greeter:test"
TOLD_LATE_S: Final = 5.0  # a report is at most so much older than its arrival, on a machine that is busy
Step = tuple[str, int]  # its name, and which passing of it

# What has been killed where, of all stages: (kind of work, step). An effect need not be cut a second time.
CUT: set[tuple[str, str]] = set()


@dataclass
class Stage:
    """One enrolled host, its market, and the agent that is alive now."""

    market: Market
    machine: Machine
    fork_server: Path
    state: Path
    clock: Clock
    env: dict[str, str] = field(default_factory=dict)
    orders: dict[str, DesiredInstance] = field(default_factory=dict)
    operations: dict[str, OperationOrder] = field(default_factory=dict)
    sums: dict[Path, str] = field(default_factory=dict)
    every: list[str] = field(default_factory=list)  # ids that there ever were
    _agent: Doomed | None = None

    @property
    def agent(self) -> Doomed:
        assert self._agent is not None
        return self._agent

    @property
    def box(self) -> DesiredInstance:
        return self.orders["box"]

    def spawn(self, fatal: Step = ("", 0)) -> None:
        self._agent = Doomed(self.fork_server, self.state, self.env, fatal)

    def until_dead(self) -> None:
        wait_until("its agent dies", lambda: self.agent.is_dead)
        CUT.add(self.agent.steps[-1])

    def end(self) -> None:
        if self._agent is not None and not self._agent.is_dead:
            self._agent.kill()

    def named(self, name: str) -> str:
        """The id of a new thing of this name."""
        identity = uuid.uuid4().hex
        self.every.append(identity)
        self.machine.names = {key: known for key, known in self.machine.names.items() if known != name} | {identity: name}
        return identity

    def id_of(self, name: str) -> str:
        return next(key for key, known in self.machine.names.items() if known == name)

    def new(self, name: str, **changes: Any) -> None:
        assert self.market.facts is not None
        self.forget(name)
        order = DesiredInstance(
            id=self.named(name),
            generation=1,
            fence=1,
            run="running",
            image=GREETER,
            gpu_uuids=[self.market.facts.gpus[0].uuid],
            simulated_gpus=True,
            cpu_millis=400,
            ram_mb=64,
            data_disk_gb=1,
            ports=[(22, free_port())],
            ssh_keys=["ssh-ed25519 AAAA one"],
            stop_grace_s=2,
            allow_from=["127.0.0.0/8"],
        )
        self.orders[name] = replace(order, **changes)
        self.market.want(self.orders[name])

    def forget(self, name: str) -> None:
        """It is known to be gone: nobody asks for it any more."""
        if name in self.orders:
            self.market.forget(self.orders.pop(name).id)

    def change(self, name: str = "box", *, again: bool = True, **changes: Any) -> None:
        """`again`: it is started once more for this, in its next generation."""
        order = self.orders[name]
        self.orders[name] = replace(order, generation=order.generation + again, **changes)
        self.market.want(self.orders[name])

    def ask(self, kind: str, **args: str) -> None:
        """The operation is remembered by its kind."""
        self.operations[kind] = OperationOrder(uuid.uuid4().hex, kind, args)
        self.market.ask(self.operations[kind])

    def ask_in_peace(self, kind: str, **args: str) -> None:
        self.ask(kind, **args)
        self.market.until(lambda report: self.is_done(kind))
        self.market.ask()

    # -- what the last report says

    def has_reported(self, phase: str, name: str = "box") -> bool:
        order = self.orders[name]
        rows = self.market.reports[-1].instances
        return any((row.id, row.phase, row.generation) == (order.id, phase, order.generation) for row in rows)

    def is_gone(self, name: str = "box") -> bool:
        return self.orders[name].id in self.market.reports[-1].absent

    def row_of(self, kind: str) -> ObservedOperation | None:
        wanted = self.operations[kind].id
        return next((row for row in self.market.reports[-1].operations if row.id == wanted), None)

    def is_done(self, kind: str) -> bool:
        row = self.row_of(kind)
        assert row is None or row.phase != "failed", row
        return row is not None and row.phase == "done"

    # -- what must not be lost

    def data(self, name: str = "box") -> Path:
        return self.state / "mounts" / self.orders[name].id / "file"

    def keep(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self.sums[path] = checksum(path)

    def check_data(self) -> None:
        for path, was in self.sums.items():
            assert checksum(path) == was, f"{path} is not as it was"

    def check_meter(self, since: int) -> None:
        """Nothing was told to be running, and charged, that did not run."""
        ahead = time.time() - time.monotonic()
        with self.market.changed:
            received = list(zip(self.market.reports, self.market.arrived_at, strict=True))[since:]
        for report, arrived in received:
            for row in report.instances:
                at = arrived + ahead
                ran = row.phase != "running" or self.clock.ran_within(row.id, at - TOLD_LATE_S, at)
                assert ran, f"told to be running at {at}: {row}"


@dataclass(frozen=True)
class Action:
    """`begin` orders it, `is_there` is true from when the host has said that it is so."""

    name: str
    begin: Callable[[Stage], None]
    is_there: Callable[[Stage], bool]
    check: Callable[[Stage], None] = lambda stage: None
    at_cut: Callable[[Stage], None] = lambda stage: None  # what holds even while nobody is at work
    # Each agent dies at the step after that of the one before. With `alone`, at first at one checkpoint in each run.
    alone: bool = False
    others: Sequence[Stage] = ()  # hosts that take part, whose agents live


class Tour:
    """Actions of which each undoes or follows the one before, round and round until every step of all has been cut."""

    def __init__(self, stage: Stage, *actions: Action) -> None:
        self.stage = stage
        self.actions = actions
        self.left: dict[str, list[Step]] = {}
        self.expected: dict[str, Counter[str]] = {}

    def run(self) -> int:
        """How many kills there were."""
        kills = 0
        self.until("rest before it", lambda: not self.stage.agent.is_busy())
        for action in self.actions:
            self._record(action)
        while any(self.left.values()):
            for action in self.actions:
                kills += self._cut(action)
        return kills

    def _record(self, action: Action) -> None:
        before, mark = self._settled(action), len(self.stage.agent.steps)
        reports = len(self.stage.market.reports)
        action.begin(self.stage)
        self.until(action.name, lambda: self._is_over(action))
        after = self._settled(action)
        self.expected[action.name] = _difference(after, before)
        steps = self.stage.agent.steps[mark:]
        self._check(action, reports)
        self.left[action.name] = _points(steps)

    def _cut(self, action: Action) -> int:
        before, reports = self._settled(action), len(self.stage.market.reports)
        left = self.left[action.name]
        single = [point for point in left if action.alone and point[0].startswith("=")][:1]
        wanted = single or list(left)
        if wanted:
            self.stage.agent.arm(*wanted[0])
        action.begin(self.stage)
        died: list[Step] = []

        def is_over() -> bool:
            if self.stage.agent.is_dead:
                CUT.add(self.stage.agent.steps[-1])
                died.append(wanted.pop(0))
                self._check_cut(action)
                self.stage.spawn((wanted[0][0], 1) if wanted else ("", 0))
            if not self._is_over(action):
                return False
            now = _difference(self._inventory(action), before)
            self._words = f"{action.name}, killed at {died}: {now} instead of {self.expected[action.name]}"
            return now == self.expected[action.name]

        self.until(action.name, is_over)
        self.stage.agent.arm("", 0)
        assert died or not wanted, f"{action.name}: it does not come to {wanted[0]} any more"
        self.left[action.name] = [step for step in left if step not in died]
        self._check(action, reports)
        return len(died)

    def _inventory(self, action: Action) -> Counter[str]:
        found = self.stage.machine.inventory()
        for number, other in enumerate(action.others):
            found.update({f"{number}: {what}": count for what, count in other.machine.inventory().items()})
        return found

    def _settled(self, action: Action) -> Counter[str]:
        """The kernel lets go of a loop device some time after its mount is gone."""
        machines = [self.stage.machine, *(other.machine for other in action.others)]
        self.until("every loop device has its mount", lambda: not any(machine.unmounted_loops() for machine in machines))
        return self._inventory(action)

    def _is_over(self, action: Action) -> bool:
        """Not while anything may still follow from it."""
        everyone = (self.stage, *action.others)
        return action.is_there(self.stage) and not any(one.agent.is_busy() for one in everyone)

    _words = ""

    def until(self, what: str, true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            log = Path(f"{self.stage.state}.log")
            if time.monotonic() > end:
                raise AssertionError(f"{what} never ended. {self._words}\n{log.read_text()[-3000:]}")
            time.sleep(0.03)

    def _check_cut(self, action: Action) -> None:
        running = Counter(
            item["Labels"]["berth.instance"]
            for item in self.stage.machine.engine.containers(filters={"label": f"berth.host={self.stage.machine.host_id}"})
        )
        assert all(count == 1 for count in running.values()), f"{action.name}: two run at once: {running}"
        action.at_cut(self.stage)

    def _check(self, action: Action, reports: int) -> None:
        action.check(self.stage)
        self.stage.check_data()
        self.stage.check_meter(reports)


def _difference(after: Counter[str], before: Counter[str]) -> Counter[str]:
    found = Counter(after)
    found.subtract(before)
    return Counter({what: count for what, count in found.items() if count})


def _points(steps: Sequence[tuple[str, str]]) -> list[Step]:
    """Where to kill: at every checkpoint (of one that is passed often, the first and the last time), and before every effect
    at which that was not done yet in this kind of work. What comes right after a checkpoint is no place of its own."""
    total, passes = Counter(step for _, step in steps), Counter[str]()
    points, last = [], ""
    for kind, step in steps:
        passes[step] += 1
        if step.startswith("="):
            is_own = passes[step] in (1, total[step])
        else:
            is_own = passes[step] == 1 and not last.startswith("=") and (kind, step) not in CUT
        if is_own:
            points.append((step, passes[step]))
        last = step
    return points


@contextmanager
def open_stage(engine: Any, folder: Path, fork_server: Path, *, net: str = "", **config: Any) -> Iterator[Stage]:
    with Market() as market:
        market.host_id = uuid.uuid4().hex
        state = folder / "agent"
        wanted = AgentConfig(
            url=market.url,
            simulate_gpus="RTX 4090:4",
            listen="127.0.0.1",
            port_first=PORTS[0],
            port_last=PORTS[1],
            local_images=True,
            sparse_disks=True,
        )
        enrol(state, replace(wanted, **config), "join")
        clock = Clock(engine, market.host_id)
        stage = Stage(market, Machine(engine, state, market.host_id, net), fork_server, state, clock)
        try:
            yield stage
        finally:
            stage.end()
            clock.close()
            _clean_up(stage)


def _clean_up(stage: Stage) -> None:
    """By force, so that a failed test leaves nothing on the machine."""
    engine, own = stage.machine.engine, {"label": f"berth.host={stage.machine.host_id}"}
    of_syncs = engine.containers(all=True, filters={"label": f"{SYNC_HOST_LABEL}={stage.machine.host_id}"})
    for item in [*of_syncs, *engine.containers(all=True, filters=own)]:
        engine.remove_container(item["Id"], force=True, v=True)
    for item in engine.networks(filters=own):
        engine.remove_network(item["Id"])
    for tag in stage.machine.tags():
        engine.remove_image(tag, force=True)
    for item in engine.images(filters=own):
        engine.remove_image(item["Id"], force=True)
    for identity in stage.every:
        Firewall().ssh_allow_list.remove(bridge_name(identity))
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        if line.split()[1].startswith(f"{stage.state}/"):
            subprocess.run(["umount", line.split()[1]], check=False, capture_output=True)
