"""What lies on a host that does not report costs nothing from its last report on, until it is heard again (fault 47)."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from math import floor
from uuid import UUID

import pytest

from accounts.models import User
from billing.constants import (
    DISK_SOURCE,
    HOLD_SOURCE,
    INSTANCE_SOURCE,
    RETENTION_SOURCE,
    SNAPSHOT_SOURCE,
    TERM_SOURCE,
    VOLUME_SOURCE,
)
from billing.metering.settle import settle_meters
from billing.models import Entry, Hold, Meter, Posting, Wallet
from billing.statements.selectors import statement_lines
from common import clock
from instances.enforcement.budgets import set_budget
from instances.enforcement.silent_hosts import charge_meters, update_meters_of_silent_hosts
from instances.enforcement.sweeps import end_terms
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.metering.findings import metering_findings
from instances.models import Instance
from instances.release.services import release_instance
from instances.retention.data_retention import keep_data
from instances.volumes.unpaid_disks import update_disk_meters
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.write_offs import write_off_host
from marketplace.models import Host
from storage.models import Snapshot, Volume
from storage.sweeps import delete_unpaid, update_storage_meters
from storage.volumes.snapshots import delete_snapshot, snapshot_volume
from storage.volumes.volumes import create_volume, delete_volume
from tests.billing.money import assert_sound
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import running, sell
from tests.instances.sweeps import run_sweeps
from tests.instances.volume_world import carry_out
from tests.profiles import examples

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000
KINDS = (DISK_SOURCE, HOLD_SOURCE, VOLUME_SOURCE, SNAPSHOT_SOURCE)


@dataclass
class Kept:
    """One of each that is charged by the clock, on one host."""

    stopped: Instance
    volume: Volume
    snapshot: Snapshot

    def source(self, kind: str) -> UUID:
        return {VOLUME_SOURCE: self.volume.pk, SNAPSHOT_SOURCE: self.snapshot.pk}.get(kind, self.stopped.pk)

    def rate(self, kind: str) -> Fraction:
        """In micro-units for a microsecond, from what was agreed on."""
        self.stopped.refresh_from_db()
        if kind == HOLD_SOURCE:
            return Fraction(self.stopped.hold_micros_per_hour, HOUR_US)
        daily = {
            DISK_SOURCE: self.stopped.disk_micros_per_day,
            VOLUME_SOURCE: self.volume.micros_per_day,
            SNAPSHOT_SOURCE: self.snapshot.micros_gb_day * 3,
        }
        return Fraction(daily[kind], DAY_US)


@pytest.fixture
def kept(rin: User, host: FakeHost) -> Kept:
    """A stopped instance with a paid disk that keeps its GPU, a volume and its snapshot."""
    sell(host, disk_micros_gb_day=4_800_000)
    instance = order(rin, host, disk=60)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk, hold=True)
    host.settle()
    volume = create_volume(owner=rin, name="models", size_gb=20, host_id=host.host.pk)
    carry_out(host)
    snapshot = snapshot_volume(owner=rin, volume_id=volume.pk)
    carry_out(host)
    return Kept(reload(instance), Volume.objects.get(pk=volume.pk), Snapshot.objects.get(pk=snapshot.pk))


def stay(host: FakeHost, hours: Clock, seconds: int) -> None:
    """The host reports every minute, and the sweeps run at the first, every five after it, and at the end."""
    for minute in range(1, seconds // 60 + 1):
        hours.advance(seconds=60)
        host.sync()
        if minute % 5 == 1 or minute == seconds // 60:
            run_sweeps()


def fall_silent(hours: Clock, seconds: int, step: int = 60) -> None:
    for _ in range(seconds // step):
        hours.advance(seconds=step)
        run_sweeps()


def net(source: UUID, kind: str, entry: str = Entry.Kind.CHARGE) -> int:
    """What a source has cost its renter after all: what was charged less what was given back."""
    used = sum(
        line.charge_micros
        for meter in Meter.objects.filter(source_kind=kind, source_id=source)
        for line in meter.usage.all()
    )
    back = Entry.objects.filter(posting__source_kind=kind, posting__source_id=source, kind=Entry.Kind.REFUND)
    return used - sum(back.values_list("amount_micros", flat=True))


def spend_the_rest(renter: User) -> None:
    """All that no hold keeps is spent elsewhere."""
    wallet = Wallet.objects.get(owner=renter, kind=Wallet.Kind.RENTER)
    Wallet.objects.filter(pk=wallet.pk).update(balance_micros=wallet.held_micros)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def span_of(meter: Meter) -> tuple[datetime, datetime]:
    return meter.opened_at, meter.proven_until


# -- the rule, on each kind


def test_fault_047_a_silent_host_is_paid_to_its_last_report(
    host: FakeHost, hours: Clock, kept: Kept, subtests: pytest.Subtests
) -> None:
    sources = {kind: kept.source(kind) for kind in KINDS}
    begun = {kind: Meter.objects.get(source_kind=kind, source_id=sources[kind], closed_at=None).opened_at for kind in KINDS}
    stay(host, hours, 300)
    seen = clock.now()
    fall_silent(hours, 3 * 3600, step=300)
    due = {kind: half_up(kept.rate(kind) * ((seen - begun[kind]) // timedelta(microseconds=1))) for kind in KINDS}
    for kind, source in sources.items():
        with subtests.test("silent", kind=kind):
            meters = Meter.objects.filter(source_kind=kind, source_id=source)
            assert [span_of(meter) for meter in meters] == [(begun[kind], seen)]
            assert due[kind] > 0 and net(source, kind) == due[kind]
            assert Hold.objects.filter(source_kind=kind, source_id=source, released_at=None).exists()
    assert reload(kept.stopped).holds_gpus, "silence ends no lease (D2)"

    host.sync()
    back = clock.now()
    for kind, source in sources.items():
        with subtests.test("heard", kind=kind):
            assert net(source, kind) == due[kind], "nothing is charged later for the time of the silence"
    update_meters_of_silent_hosts(now=clock.now())
    stay(host, hours, 3600)
    for kind, source in sources.items():
        with subtests.test("an hour later", kind=kind):
            anew = Meter.objects.get(source_kind=kind, source_id=source, closed_at=None)
            assert anew.opened_at == back
            assert net(source, kind) == due[kind] + half_up(kept.rate(kind) * HOUR_US)
    assert metering_findings() == []
    assert_sound()


def test_a_gap_within_the_bridge_is_paid(host: FakeHost, hours: Clock, kept: Kept) -> None:
    for _ in range(30):
        fall_silent(hours, 120)
        host.sync()
    settle_meters(now=clock.now())
    for kind in KINDS:
        [meter] = Meter.objects.filter(source_kind=kind, source_id=kept.source(kind))
        assert meter.closed_at is None
        assert net(kept.source(kind), kind) == half_up(kept.rate(kind) * HOUR_US)
    assert not Posting.objects.filter(kind="credit").exists()
    assert_sound()


def test_an_hour_that_ends_in_the_bridge_goes_back(rin: User, host: FakeHost, hours: Clock, kept: Kept) -> None:
    """It was charged before anybody could know; the owner returns its share and the market its fee, to the micro-unit."""
    stay(host, hours, 3540)
    seen = clock.now()
    hours.advance(seconds=100)
    charge_meters(now=clock.now())
    volume = Meter.objects.get(source_kind=VOLUME_SOURCE)
    assert volume.settled_until == volume.opened_at + timedelta(hours=1) > seen
    fall_silent(hours, 600)
    for kind in KINDS:
        meter = Meter.objects.get(source_kind=kind)
        due = half_up(kept.rate(kind) * ((seen - meter.opened_at) // timedelta(microseconds=1)))
        assert net(kept.source(kind), kind) == due
    lines = [line for line in statement_lines(owner_id=rin.pk, limit=100) if "did not report" in line.what]
    assert {line.source_kind for line in lines} == set(KINDS)
    for line in lines:
        assert (line.period_from, line.kind) == (seen, "refund")
        assert line.hours == (1 if line.source_kind == HOLD_SOURCE else 24), "the rate is what its meter's was"
    assert_sound()


# -- whatever stands still meanwhile


def test_a_silence_that_no_sweep_has_seen_is_cut_out_by_the_next_report(host: FakeHost, hours: Clock, kept: Kept) -> None:
    stay(host, hours, 300)
    seen = clock.now()
    hours.advance(hours=5)  # the worker was down, and the host as well
    host.sync()
    back = clock.now()
    stay(host, hours, 3600)
    for kind in KINDS:
        first, second = Meter.objects.filter(source_kind=kind).order_by("opened_at")
        assert first.proven_until == first.settled_until == seen
        assert back <= second.opened_at <= back + timedelta(seconds=60)
    assert_sound()


def test_a_settlement_that_is_late_never_charges_a_silence(host: FakeHost, hours: Clock, kept: Kept) -> None:
    stay(host, hours, 300)
    seen = clock.now()
    hours.advance(hours=5)
    charge_meters(now=clock.now())
    assert {meter.settled_until for meter in Meter.objects.filter(source_kind__in=KINDS)} == {seen}
    assert not Posting.objects.filter(kind="credit").exists()


def test_an_audit_finds_what_was_charged_in_a_silence(host: FakeHost, hours: Clock, kept: Kept) -> None:
    stay(host, hours, 300)
    hours.advance(hours=5)
    assert metering_findings() == []
    settle_meters(now=clock.now())
    found = {(finding.code, finding.subject.split()[0]) for finding in metering_findings()}
    assert found == {("I33", kind) for kind in KINDS}


# -- ends, faults and orders in the silence


def test_what_ends_in_a_silence_ends_at_the_last_report(rin: User, host: FakeHost, hours: Clock, kept: Kept) -> None:
    """Also where no sweep has looked: the clock of a silent host does not run."""
    stay(host, hours, 300)
    seen = clock.now()
    hours.advance(hours=5)
    delete_snapshot(owner=rin, snapshot_id=kept.snapshot.pk)
    delete_volume(owner=rin, volume_id=kept.volume.pk)
    stop_instance(renter=rin, instance_id=kept.stopped.pk)  # lets the GPUs go
    release_instance(renter=rin, instance_id=kept.stopped.pk)
    charge_meters(now=clock.now())
    assert {meter.settled_until for meter in Meter.objects.filter(source_kind__in=KINDS)} == {seen}
    held = Hold.objects.filter(released_at=None, source_kind__in=KINDS)
    assert [hold.source_kind for hold in held] == [DISK_SOURCE], "until the host has proven that it is gone"
    host.was_there()
    update_meters_of_silent_hosts(now=clock.now())
    update_disk_meters(now=clock.now())
    update_storage_meters(now=clock.now())
    assert not Meter.objects.filter(closed_at=None, source_kind__in=KINDS).exists()
    assert_sound()


def test_a_write_off_gives_nothing_back_twice(rin: User, stella: User, host: FakeHost, hours: Clock, kept: Kept) -> None:
    stay(host, hours, 3540)
    hours.advance(seconds=100)
    charge_meters(now=clock.now())
    fall_silent(hours, 3600, step=300)
    before = {kind: net(kept.source(kind), kind) for kind in KINDS}
    write_off_host(staff=stella, host_id=host.host.pk, reason="Its data centre burnt down.", now=clock.now())
    settle_write_offs(now=clock.now())
    assert reload(kept.stopped).state == "gone"
    assert {kind: net(kept.source(kind), kind) for kind in KINDS} == before
    assert not Hold.objects.filter(released_at=None).exists()
    assert_sound()


@pytest.mark.parametrize("first", [end_terms, update_storage_meters, update_disk_meters])
def test_nobody_is_called_unpaid_after_an_outage_of_the_worker(
    rin: User, host: FakeHost, hours: Clock, kept: Kept, first: Callable[..., int]
) -> None:
    """Whichever sweep comes first when the worker is back: the host was silent meanwhile."""
    stay(host, hours, 300)
    spend_the_rest(rin)
    hours.advance(hours=4)
    first(now=clock.now())
    assert not Volume.objects.exclude(unpaid_since=None).exists()
    assert not Snapshot.objects.exclude(unpaid_since=None).exists()
    assert reload(kept.stopped).holds_gpus
    assert Hold.objects.filter(released_at=None, source_kind__in=KINDS).count() == len(KINDS)
    host.sync()
    update_meters_of_silent_hosts(now=clock.now())
    assert Meter.objects.filter(closed_at=None, source_kind__in=KINDS).count() == len(KINDS)


@pytest.fixture
def another(host: FakeHost) -> FakeHost:
    """It reports all the while: the silence is one host's, not the market's (D6)."""
    return FakeHost(host.owner)


def one_falls_silent(another: FakeHost, hours: Clock, seconds: int) -> None:
    for _ in range(seconds // 300):
        hours.advance(seconds=300)
        another.sync()
        run_sweeps()


def test_what_runs_on_a_silent_host_is_not_stopped_for_want_of_money(
    rin: User, host: FakeHost, another: FakeHost, hours: Clock
) -> None:
    """Most of its paid hour is left: the clock of a silent host does not use it up."""
    instance = order_running(rin, host)
    stay(host, hours, 300)
    spend_the_rest(rin)
    one_falls_silent(another, hours, 2 * 3600)
    assert reload(instance).state == "running"
    host.sync()
    stay(host, hours, 3300 - 60)
    assert reload(instance).state == "running", "what was held pays the rest of the hour"
    stay(host, hours, 180)
    assert reload(instance).state == "stopping"
    host.settle()
    assert 3_500_000 < net(instance.pk, INSTANCE_SOURCE) <= 3_600_000


def held_for(renter: User) -> int:
    return Wallet.objects.get(owner=renter, kind=Wallet.Kind.RENTER).held_micros


@pytest.mark.parametrize("mode", ["hourly", "reserved"])
def test_nothing_more_is_held_for_what_runs_on_a_silent_host(
    rin: User, host: FakeHost, another: FakeHost, hours: Clock, mode: str
) -> None:
    """Its renter can spend the money elsewhere meanwhile; the next hour is held once the host reports again."""
    sell(host)
    terms = {"term": "month", "payment": "none"} if mode == "reserved" else {}
    instance = running(rin, host, mode, **terms)
    held = held_for(rin)
    stay(host, hours, 300)
    seen = clock.now()
    one_falls_silent(another, hours, 6 * 3600)
    assert held_for(rin) == held > 0
    host.sync()
    stay(host, hours, 3600)
    assert reload(instance).state == "running"
    assert Meter.objects.get(source_kind__in=(INSTANCE_SOURCE, TERM_SOURCE), closed_at=None).funded_until > clock.now()
    settle_meters(now=clock.now())
    first, second = Meter.objects.filter(source_kind__in=(INSTANCE_SOURCE, TERM_SOURCE)).order_by("opened_at")
    assert (first.proven_until, first.settled_until) == (seen, seen), "what was proven before is paid"
    assert second.settled_until == second.opened_at + timedelta(hours=1)
    assert metering_findings() == []
    assert_sound()


def test_a_term_on_a_silent_host_is_not_ended_for_want_of_money(
    rin: User, host: FakeHost, another: FakeHost, hours: Clock
) -> None:
    """An early end would cost its renter the deposit, and a debt, for hours that nobody could use."""
    sell(host)
    instance = running(rin, host, "reserved", term="month", payment="none")
    stay(host, hours, 300)
    spend_the_rest(rin)
    one_falls_silent(another, hours, 2 * 3600)
    assert reload(instance).billing_mode == "reserved"
    assert not Entry.objects.filter(wallet__owner=rin, wallet__kind="debt").exists()
    host.sync()
    stay(host, hours, 600)
    assert reload(instance).state == "running"


def test_a_budget_stops_nothing_on_a_silent_host(rin: User, host: FakeHost, another: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    stay(host, hours, 300)
    set_budget(owner=rin, scope="instance", subject_id=instance.pk, period="total", limit_micros=3_600_000, hard=True)
    one_falls_silent(another, hours, 2 * 3600)
    assert reload(instance).state == "running"
    host.sync()
    stay(host, hours, 600)
    assert reload(instance).state == "running"


def test_nobody_is_called_unpaid_in_a_silence(rin: User, host: FakeHost, hours: Clock, kept: Kept) -> None:
    """The money is spent elsewhere meanwhile: what was held is still there when the host is heard, and costs again."""
    stay(host, hours, 300)
    spend_the_rest(rin)
    fall_silent(hours, 48 * 3600, step=4 * 3600)
    assert delete_unpaid(now=clock.now()) == 0
    assert not Volume.objects.exclude(unpaid_since=None).exists()
    assert reload(kept.stopped).holds_gpus
    host.sync()
    update_meters_of_silent_hosts(now=clock.now())
    assert Meter.objects.filter(closed_at=None, source_kind__in=KINDS).count() == len(KINDS)


def test_a_start_on_a_host_that_is_heard_again(rin: User, host: FakeHost, hours: Clock, kept: Kept) -> None:
    stay(host, hours, 300)
    fall_silent(hours, 3600, step=300)
    host.sync()
    start_instance(renter=rin, instance_id=kept.stopped.pk)
    host.settle()
    update_meters_of_silent_hosts(now=clock.now())
    assert reload(kept.stopped).state == "running"
    assert Meter.objects.filter(source_kind=DISK_SOURCE, closed_at=None).count() == 1
    assert not Hold.objects.filter(source_kind=HOLD_SOURCE, released_at=None).exists()
    stay(host, hours, 600)
    assert_sound()


def test_a_host_in_a_new_epoch_has_to_tell_first(host: FakeHost, hours: Clock, kept: Kept) -> None:
    fall_silent(hours, 600)
    host.was_there()
    Host.objects.update(awaits_epoch=True)
    update_meters_of_silent_hosts(now=clock.now())
    assert not Meter.objects.filter(closed_at=None, source_kind__in=KINDS).exists()
    Host.objects.update(awaits_epoch=False)
    update_meters_of_silent_hosts(now=clock.now())
    assert Meter.objects.filter(closed_at=None, source_kind__in=KINDS).count() == len(KINDS)


@pytest.fixture
def fee(rin: User, host: FakeHost, hours: Clock) -> Instance:
    """Data that is kept for a fee, two days into it."""
    sell(host)
    instance = order(rin, host)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    keep_data(renter=rin, instance_id=instance.pk, days=7)
    return reload(instance)


def pass_a_day(host: FakeHost, hours: Clock, *, silent: bool = False) -> None:
    hours.advance(days=1)
    if not silent:
        host.was_there()
    run_sweeps()


def test_kept_data_costs_no_fee_in_a_silence(rin: User, host: FakeHost, hours: Clock, fee: Instance) -> None:
    daily = 20 * 4_800
    for day in range(34):
        pass_a_day(host, hours, silent=day in (32, 33))
    assert net(fee.pk, RETENTION_SOURCE) == 2 * daily
    held = Hold.objects.get(source_kind=RETENTION_SOURCE, released_at=None)
    assert held.amount_micros == 5 * daily, "what was set aside stays so"
    host.was_there()
    run_sweeps()
    pass_a_day(host, hours)
    assert net(fee.pk, RETENTION_SOURCE) == 3 * daily
    assert_sound()


def test_paid_time_that_begins_in_a_silence_begins_when_the_host_is_heard(
    rin: User, host: FakeHost, hours: Clock, fee: Instance
) -> None:
    daily = 20 * 4_800
    for day in range(32):
        pass_a_day(host, hours, silent=day >= 29)
    assert net(fee.pk, RETENTION_SOURCE) == 0
    host.was_there()
    run_sweeps()
    pass_a_day(host, hours)
    assert net(fee.pk, RETENTION_SOURCE) == daily
    assert_sound()


# -- a random life against fractions


@dataclass
class Oracle:
    """The rule as it is written down, kept by hand: spans between reports that are at most 120 s apart."""

    rate: Fraction
    begun: datetime | None
    seen: datetime
    spans: list[int] = field(default_factory=list)
    over: bool = False

    def end(self, at: datetime) -> None:
        if self.begun is not None:
            self.spans.append(max(0, (at - self.begun) // timedelta(microseconds=1)))
        self.begun = None

    def lapse(self, now: datetime) -> None:
        if now - self.seen > timedelta(seconds=120):
            self.end(self.seen)

    def report(self, now: datetime) -> None:
        self.lapse(now)
        self.seen = now

    def sweep(self, now: datetime) -> None:
        self.lapse(now)
        if not self.over and self.begun is None and now - self.seen <= timedelta(seconds=120):
            self.begun = now

    def delete(self, now: datetime) -> None:
        self.lapse(now)
        self.end(now)
        self.over = True

    @property
    def micros(self) -> int:
        return sum(half_up(self.rate * span) for span in self.spans)


@pytest.mark.parametrize("seed", range(examples(3, long=8)))
def test_a_random_life_costs_what_fractions_say(rin: User, host: FakeHost, hours: Clock, kept: Kept, seed: int) -> None:
    dice = random.Random(seed)
    oracles = {kind: Oracle(kept.rate(kind), Meter.objects.get(source_kind=kind).opened_at, clock.now()) for kind in KINDS}
    ends: dict[str, Callable[[], object]] = {
        SNAPSHOT_SOURCE: lambda: delete_snapshot(owner=rin, snapshot_id=kept.snapshot.pk),
        VOLUME_SOURCE: lambda: delete_volume(owner=rin, volume_id=kept.volume.pk),
        HOLD_SOURCE: lambda: stop_instance(renter=rin, instance_id=kept.stopped.pk),
        DISK_SOURCE: lambda: release_instance(renter=rin, instance_id=kept.stopped.pk),
    }
    away = 0
    for _ in range(90):
        hours.advance(seconds=dice.choice([1, 7, 20, 59, 60, 119, 120, 121, 600]), microseconds=dice.randrange(1_000_000))
        now = clock.now()
        away = max(0, away - 1) or (dice.randrange(12) if dice.random() < 0.15 else 0)
        if not away:
            host.sync()
            for oracle in oracles.values():
                oracle.report(now)
        if dice.random() < 0.7:
            run_sweeps()
            for oracle in oracles.values():
                oracle.sweep(now)
    for kind, end in ends.items():
        hours.advance(seconds=dice.choice([10, 60, 130, 4000]))
        now = clock.now()
        end()
        oracles[kind].delete(now)
    charge_meters(now=clock.now())
    assert {kind: net(kept.source(kind), kind) for kind in KINDS} == {kind: oracles[kind].micros for kind in KINDS}
    owner = Entry.objects.filter(wallet__owner=host.owner, posting__source_kind="credit").count()
    assert owner == 0
    total = sum(net(kept.source(kind), kind) for kind in KINDS)
    assert total > 0
    assert_sound()
