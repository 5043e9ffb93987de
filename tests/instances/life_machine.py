"""Random lives of instances on two hosts, with every message lost, doubled or late, and what must hold after each step."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

import time_machine
from django.db import connection, transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from accounts.models import User
from billing.constants import PROOF_BRIDGE
from common import clock
from common.db.prepared import run
from common.errors import DomainError
from instances.billing_mode.change_quotes import changes_of, quote_change
from instances.billing_mode.convert import convert_instance, extend_instance
from instances.enforcement.sweeps import compare_leases
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.reimage import reimage_instance
from instances.lifecycle.resize import resize_instance
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.start_cpu_only import start_without_gpu
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.release.services import release_instance
from instances.spot.market_tick import tick_all
from marketplace.hosts.offers import check_offers
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, record_operations
from tests.billing.money import START, assert_sound, grant
from tests.instances.fake_host import FakeHost, FakeReport, marked_block, order, refused, reload
from tests.instances.sweeps import run_sweeps

MOST_INSTANCES = 5

# Each row found breaks the invariant of faults.md that it is named after. One statement, so that a step stays cheap.
_BROKEN = """
SELECT 'I04 wallet overspent', id FROM billing_wallet
WHERE kind = 'renter' AND (balance_micros < held_micros OR held_micros <> (
    SELECT COALESCE(sum(amount_micros), 0) FROM billing_hold hold
    WHERE hold.wallet_id = billing_wallet.id AND released_at IS NULL))
UNION ALL
SELECT 'I14 hold of an instance that has ended', source_id FROM billing_hold
LEFT JOIN instances_instance i ON i.id = source_id
WHERE billing_hold.released_at IS NULL AND source_kind = 'instance'
  AND (i.id IS NULL OR i.state IN ('stopped', 'failed', 'gone'))
UNION ALL
SELECT 'I14 something held for what is gone', i.id FROM billing_hold
LEFT JOIN instances_term t ON t.id = source_id
JOIN instances_instance i ON i.id = source_id OR i.id = t.instance_id
WHERE billing_hold.released_at IS NULL AND i.state = 'gone'
UNION ALL
SELECT 'GPUs kept for nothing', id FROM instances_instance i
WHERE state = 'stopped' AND holds_gpus
  AND NOT EXISTS (SELECT FROM instances_term t WHERE t.instance_id = i.id AND t.state = 'active')
  AND NOT EXISTS (SELECT FROM billing_hold h WHERE h.source_id = i.id AND h.source_kind = 'hold' AND h.released_at IS NULL)
UNION ALL
SELECT 'waiting with GPUs', i.id FROM instances_instance i JOIN marketplace_lease l ON l.holder = i.id
WHERE i.state = 'waiting' AND l.released_at IS NULL
UNION ALL
SELECT 'reserved and metered by the hour', i.id FROM instances_instance i
JOIN instances_term t ON t.instance_id = i.id AND t.state = 'active'
JOIN billing_meter m ON m.source_id = i.id AND m.source_kind = 'instance' AND m.closed_at IS NULL
UNION ALL
SELECT 'I23 running without a meter', id FROM instances_instance i
WHERE state IN ('running', 'restarting')
  AND NOT EXISTS (SELECT FROM instances_term t WHERE t.instance_id = i.id AND t.state = 'active')
  AND NOT EXISTS (
    SELECT FROM billing_meter m WHERE m.source_id = i.id AND m.source_kind = 'instance' AND m.closed_at IS NULL)
UNION ALL
SELECT 'I24 charged after stop and grace', i.id FROM instances_instance i JOIN billing_meter m ON m.source_id = i.id
WHERE m.source_kind = 'instance' AND m.closed_at IS NULL AND i.stop_requested_at IS NOT NULL
  AND (m.capped_at IS NULL OR m.capped_at > i.stop_requested_at + interval '10 seconds')
UNION ALL
SELECT 'I26 meter of an instance that has ended', i.id FROM instances_instance i JOIN billing_meter m ON m.source_id = i.id
WHERE m.source_kind = 'instance' AND m.closed_at IS NULL
  AND i.state NOT IN ('running', 'restarting', 'stopping', 'releasing')
UNION ALL
SELECT 'I30 GPU leased twice', gpu_id FROM marketplace_lease WHERE released_at IS NULL GROUP BY gpu_id HAVING count(*) > 1
UNION ALL
SELECT 'I40 generation ahead', id FROM instances_instance WHERE observed_generation > run_generation
UNION ALL
SELECT 'I42 lease without a holder', holder FROM marketplace_lease l LEFT JOIN instances_instance i ON i.id = l.holder
WHERE l.released_at IS NULL AND (
    i.id IS NULL OR i.state = 'gone' OR NOT i.holds_gpus AND (i.state = 'stopped' OR i.stopped_at IS NOT NULL))
UNION ALL
SELECT 'ports of what is gone', instance_id FROM instances_instanceport p JOIN instances_instance i ON i.id = p.instance_id
WHERE i.state = 'gone'
"""
_HELD = (
    "SELECT l.holder, g.uuid FROM marketplace_lease l JOIN marketplace_gpu g ON g.id = l.gpu_id WHERE l.released_at IS NULL"
)

Verb = Callable[..., Instance]


def stop_and_keep(*, renter: User, instance_id: UUID) -> Instance:
    return stop_instance(renter=renter, instance_id=instance_id, hold=True)


def convert(*, renter: User, instance_id: UUID) -> Instance:
    """Into the first mode that is lawful now: round and round through hourly, tiered and a day reserved."""
    before = reload(Instance(id=instance_id))
    mode = (changes_of(before) or ("tiered",))[-1]
    wishes: dict[str, Any] = {"term": "day"} if mode == "reserved" else {}
    quote = quote_change(renter=renter, instance_id=instance_id, billing_mode=mode, **wishes)
    change = extend_instance if mode == before.billing_mode == "reserved" else convert_instance
    return change(renter=renter, instance_id=instance_id, quote_id=quote.pk)


def extend(*, renter: User, instance_id: UUID) -> Instance:
    return extend_instance(renter=renter, instance_id=instance_id, auto_renew=True)


def reimage(*, renter: User, instance_id: UUID) -> Instance:
    return reimage_instance(renter=renter, instance_id=instance_id, image="berth-base")


def resize(*, renter: User, instance_id: UUID) -> Instance:
    """One GPU or two, in turns; where that cannot be, a larger disk."""
    before = reload(Instance(id=instance_id))
    if before.state in ("stopped", "failed") and before.billing_mode in ("hourly", "tiered") and not before.holds_gpus:
        return resize_instance(renter=renter, instance_id=instance_id, gpu_count=3 - before.gpu_count)
    return resize_instance(renter=renter, instance_id=instance_id, data_disk_gb=before.data_disk_gb + 50)


VERBS: dict[str, Verb] = {
    "start": start_instance,
    "stop": stop_instance,
    "restart": restart_instance,
    "convert": convert,
    "extend": extend,
    "release": release_instance,
    "start_cpu": start_without_gpu,
    "reimage": reimage,
    "resize": resize,
}
HURRIED = (*VERBS.values(), stop_and_keep)
MODES = ("hourly", "hourly", "tiered", "reserved", "spot")

_index = st.integers(0, MOST_INSTANCES - 1)
_host = st.integers(0, 1)

# Only after a sweep: between the report that ends a host's silence and the sweep, what is kept there has no meter.
_UNMETERED = """
SELECT 'GPUs kept without a meter', i.id FROM instances_instance i JOIN marketplace_host host ON host.id = i.host_id
WHERE i.state = 'stopped' AND i.holds_gpus AND host.last_seen_at >= %s
  AND NOT EXISTS (SELECT FROM instances_term t WHERE t.instance_id = i.id AND t.state = 'active')
  AND NOT EXISTS (SELECT FROM billing_meter m WHERE m.source_id = i.id AND m.source_kind = 'hold' AND m.closed_at IS NULL)
"""


class LifeMachine(RuleBasedStateMachine):
    """The world (`renter`, `hosts`) is made once; each example runs in a savepoint of its own and is taken back."""

    world: ClassVar[Callable[[], tuple[User, list[FakeHost]]]]

    def __init__(self) -> None:
        super().__init__()
        self.travel = time_machine.travel(START, tick=False)
        self.now = self.travel.start()
        self.block = marked_block()
        self.block.__enter__()
        self.renter, self.hosts = type(self).world()
        for host in self.hosts:
            host.boxes = {}
        self.instances: list[UUID] = []
        self.old: list[tuple[FakeHost, FakeReport]] = []

    def teardown(self) -> None:
        try:
            self._end_everything()
        finally:
            transaction.set_rollback(True)
            self.block.__exit__(None, None, None)
            self.travel.stop()

    @initialize(orders=st.lists(st.tuples(_host, st.integers(1, 2)), min_size=1, max_size=3), run=st.booleans())
    def begin(self, orders: list[tuple[int, int]], run: bool) -> None:
        for host, gpu_count in orders:
            self.rent(host, gpu_count)
        if run:
            self.run_on(0)

    # -- the renter

    @rule(host=_host, gpu_count=st.integers(1, 2), mode=st.sampled_from(MODES), disk=st.sampled_from([10, 10, 100]))
    def rent(self, host: int, gpu_count: int, mode: str = "hourly", disk: int = 10) -> None:
        if len(self.instances) < MOST_INSTANCES:
            made = self._try(lambda: order(self.renter, self.hosts[host], gpu_count=gpu_count, mode=mode, disk=disk))
            if made is not None:
                self.instances.append(made.pk)

    @precondition(lambda self: self.instances)
    @rule(index=_index, choice=st.integers(0, 5))
    def act(self, index: int, choice: int) -> None:
        """Something that is lawful now."""
        verbs = [verb for verb in reload(Instance(id=self._pick(index))).actions if verb in VERBS]
        if verbs:
            verb = VERBS[verbs[choice % len(verbs)]]
            self._try(lambda: verb(renter=self.renter, instance_id=self._pick(index)))

    @precondition(lambda self: self.instances)
    @rule(index=_index, verbs=st.lists(st.sampled_from(HURRIED), min_size=1, max_size=3))
    def ask_in_a_hurry(self, index: int, verbs: list[Verb]) -> None:
        """One after the other before the host hears of any, lawful or not."""
        for verb in verbs:
            self._try(partial(verb, renter=self.renter, instance_id=self._pick(index)))

    @rule(units=st.integers(1, 20))
    def top_up(self, units: int) -> None:
        grant(self.renter, units * 1_000_000)

    # -- the hosts

    @rule(host=_host)
    def exchange(self, host: int) -> None:
        self._remember(self.hosts[host])
        self.hosts[host].sync()

    @rule(host=_host)
    def work(self, host: int) -> None:
        self.hosts[host].work()

    @rule()
    def settle_hosts(self) -> None:
        for host in self.hosts:
            self._remember(host)
            host.settle()

    @rule(host=_host, works=st.booleans())
    def work_beside(self, host: int, works: bool) -> None:
        """The host ends what it was asked for beside its containers."""
        key = self.hosts[host].host.pk
        phase, code = ("done", "") if works else ("failed", "disk_full")
        rows = [OperationRow(row.id, phase, failure_code=code) for row in desired_operations(key)]
        record_operations(host_id=key, rows=rows, at=clock.now())
        apply_results()

    @rule(host=_host)
    def lose_the_reply(self, host: int) -> None:
        self._remember(self.hosts[host])
        self.hosts[host].deliver(self.hosts[host].report())

    @precondition(lambda self: self.old)
    @rule(index=st.integers(0, 1000))
    def repeat_an_old_report(self, index: int) -> None:
        host, report = self.old[index % len(self.old)]
        host.deliver(report)

    @precondition(lambda self: self.instances)
    @rule(index=_index, code=st.sampled_from(["image_missing", "ssh_silent", "exited", "out_of_memory", "gpu_lost"]))
    def break_it(self, index: int, code: str) -> None:
        """The next step fails, or the running container ends by itself."""
        key = self._pick(index)
        for host in self.hosts:
            if code in ("exited", "out_of_memory", "gpu_lost") and key in host.running():
                host.end(Instance(id=key), code)
            elif key in host.boxes:
                host.break_next(Instance(id=key), code)

    # -- time and jobs

    @rule(seconds=st.one_of(st.integers(1, 100), st.integers(100, 4_000)))
    def pass_time(self, seconds: int) -> None:
        """In which no host reports and no job runs."""
        self.now.shift(timedelta(seconds=seconds))

    @rule(seconds=st.integers(0, 119))
    def run_on(self, seconds: int) -> None:
        """Time in which the hosts report, work, report as they should, and the jobs run."""
        for host in self.hosts:
            host.settle()
        self.now.shift(timedelta(seconds=seconds))
        for host in self.hosts:
            host.sync()
        self._beat()

    @rule(days=st.integers(0, 31))
    def beat_after_days(self, days: int) -> None:
        self.now.shift(timedelta(days=days))
        self._beat()

    def _beat(self) -> None:
        run_sweeps()
        assert _rows(_UNMETERED, clock.now() - PROOF_BRIDGE) == []

    # -- what must hold

    @invariant()
    def nothing_is_broken(self) -> None:
        assert _rows(_BROKEN) == []

    @invariant()
    def containers_run_on_leased_gpus_alone(self) -> None:
        """I33."""
        held: dict[UUID, set[str]] = {}
        for holder, uuid in _rows(_HELD):
            held.setdefault(holder, set()).add(uuid)
        for host in self.hosts:
            for key in host.running():
                assert set(host.boxes[key].gpus) <= held.get(key, set()), "a container runs on GPUs that it does not hold"

    def _end_everything(self) -> None:
        """Whatever happened before: asked to, everything ends, and the books are right."""
        assert_sound()
        for key in self.instances:
            release_instance(renter=self.renter, instance_id=key)
        tick_all()
        for host in self.hosts:
            host.settle()
        assert {reload(Instance(id=key)).state for key in self.instances} <= {"gone"}
        assert _rows(_HELD) == []
        assert _rows("SELECT id FROM billing_hold WHERE released_at IS NULL") == []
        assert _rows("SELECT id FROM instances_instanceport") == []
        assert _rows("SELECT id FROM billing_wallet WHERE kind = 'escrow' AND balance_micros <> 0") == []
        assert _rows("SELECT id FROM instances_term WHERE state IN ('active', 'next')") == []
        assert check_offers(repair=False) == []
        assert compare_leases() == 0
        self.nothing_is_broken()
        assert_sound()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")

    def _pick(self, index: int) -> UUID:
        return self.instances[index % len(self.instances)]

    def _remember(self, host: FakeHost) -> None:
        self.old.append((host, host.report()))

    def _try(self, step: Callable[[], Instance]) -> Instance | None:
        """What a renter may be refused: one of the errors that has a code."""
        try:
            with refused():
                return step()
        except DomainError as error:
            assert error.status in (402, 409), error
            return None


def _rows(query: str, *values: object) -> list[tuple[Any, ...]]:
    """Asked after every step: planned once."""
    with connection.cursor() as cursor:
        run(cursor, query, list(values))
        return list(cursor.fetchall())
