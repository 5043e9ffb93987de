"""Faults of a host that come together: what a renter pays after all, against fractions kept by hand from the documents.

Cut off, silent, restarted, without its disk, reported by its renter, written off: each second is charged at most once and
given back at most once, at most an hour for a run and two in a day.
"""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from accounts.models import User
from billing.constants import DISK_SOURCE, INSTANCE_SOURCE
from billing.models import Entry, Hold, Meter
from common import clock
from common.money import parse_money
from instances.enforcement.fault_reports import decide_report, report_fault
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.metering.findings import metering_findings
from instances.models import FaultReport, Instance
from instances.release.services import release_instance
from instances.volumes.usage import record_disk_usage
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.write_offs import write_off_host
from storage.models import Image
from storage.volumes.usage import DiskUseRow
from tests.billing.money import UNIT, assert_sound, grant
from tests.instances.enforcement.test_silent_hosts import Oracle, half_up, net
from tests.instances.fake_host import FakeHost, order, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import sell
from tests.instances.sweeps import run_sweeps
from tests.profiles import examples

PRICE = "3.337331"  # an hour: no second costs a whole number of micro-units
CUT = "The bridge of its network is down on the host."
BRIDGE, HOUR, DAY = timedelta(seconds=120), timedelta(hours=1), timedelta(hours=24)


def us(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


@dataclass
class Span:
    """A stretch of proven use; an open one goes on with the next proof."""

    begin: datetime
    end: datetime
    open: bool = True


@dataclass
class Use:
    """What the running instance costs, by docs/money.md (4, 5, 9) and docs/reliability.md."""

    rate: Fraction
    spans: list[Span] = field(default_factory=list)
    given: list[tuple[datetime, datetime, datetime]] = field(default_factory=list)  # when, from, to
    micros_back: int = 0
    began: datetime | None = None

    def proven(self, now: datetime) -> None:
        """Seen running, or seen to be reached again."""
        last = self.spans[-1] if self.spans and self.spans[-1].open else None
        if last is not None and now - last.end <= BRIDGE:
            last.end = now
            return
        self.interrupted()
        self.spans.append(Span(now, now))

    def interrupted(self) -> None:
        if self.spans:
            self.spans[-1].open = False

    def give_back(self, now: datetime, until: datetime, since: datetime) -> None:
        """The last hour of the run's proven time; what was given back before is not given back again."""
        of_the_day = sum((to - begin for at, begin, to in self.given if at > now - DAY), timedelta(0))
        left = min(HOUR, 2 * HOUR - of_the_day)
        since = max([since, *(to for _at, begin, to in self.given if begin < until and to > since)])
        for span in reversed(self.spans):
            begin = max(span.begin, since, span.end - left)
            if begin >= span.end or left <= timedelta(0) or span.begin >= until:
                continue
            left -= span.end - begin
            self.given.append((now, begin, span.end))
            self.micros_back += self._cost(span, span.end) - self._cost(span, begin)

    def _cost(self, span: Span, until: datetime) -> int:
        return half_up(self.rate * us(until - span.begin))

    @property
    def micros(self) -> int:
        return sum(self._cost(span, span.end) for span in self.spans) - self.micros_back


@dataclass
class World:
    """The instance, its host, and the two oracles."""

    renter: User
    staff: User
    host: FakeHost
    instance: Instance
    use: Use
    disk: Oracle
    cut: bool = False
    lost: bool = False
    reports: list[tuple[datetime, datetime]] = field(default_factory=list)  # run since, reported at

    @property
    def state(self) -> str:
        return reload(self.instance).state

    def sync(self) -> None:
        now = clock.now()
        self.disk.report(now)
        if self.state == "running":
            if self.cut:
                self.use.interrupted()
            else:
                self.use.proven(now)
        self.host.sync()

    def settle(self) -> None:
        self.sync()
        self.host.work()
        self.host.sync()

    def start(self) -> None:
        start_instance(renter=self.renter, instance_id=self.instance.pk)
        self.disk.report(clock.now())
        self.host.settle()
        if self.state == "running":
            self.use.interrupted()
            self.use.proven(clock.now())
            self.use.began = clock.now()
            self.lost = self.disk.over = False  # what runs has mounted all that it has, and is metered at once
            self.disk.sweep(clock.now())
            self.cut = False

    def stop(self) -> None:
        stop_instance(renter=self.renter, instance_id=self.instance.pk)
        self._ends(proven=not self.cut)

    def break_engine(self) -> None:
        now = clock.now()
        self.disk.report(now)
        self.use.interrupted()
        self.host.end(reload(self.instance), "engine_restarted")
        self.host.sync()
        assert self.use.began is not None
        self.use.give_back(now, now, self.use.began)
        self.host.settle()

    def report(self) -> None:
        began = self.use.began
        assert began is not None
        report_fault(renter=self.renter, instance_id=self.instance.pk, detail="It hangs.")
        self.reports.append((began, clock.now()))
        self._ends(proven=not self.cut)

    def decide(self, *, upheld: bool) -> None:
        began, reported = self.reports.pop(0)
        open_ones = FaultReport.objects.filter(verdict="open").order_by("opened_at")
        decide_report(staff=self.staff, report_id=open_ones[0].pk, upheld=upheld)
        if upheld:
            self.use.give_back(clock.now(), reported, began)

    def lose_disk(self) -> None:
        if not self.lost:
            self.disk.delete(clock.now())
        self.lost = True
        self._say("missing")

    def turn(self) -> None:
        """Its host cuts it off, or mends it."""
        self.cut = not self.cut
        self.host.cut_off(self.instance, CUT if self.cut else "")

    def find_disk(self) -> None:
        self.lost = False
        self.disk.over = False
        self._say("")

    def _say(self, trouble: str) -> None:
        rows = [DiskUseRow(self.instance.pk, 1, 2, 1, 2, trouble)]
        record_disk_usage(host_id=self.host.host.pk, rows=rows, at=clock.now())

    def _ends(self, *, proven: bool) -> None:
        """Asked for and proven in one moment; of one that is cut off nothing more is proven."""
        now = clock.now()
        self.disk.report(now)
        if proven and self.use.spans[-1].open and now - self.use.spans[-1].end <= BRIDGE:
            self.use.spans[-1].end = now
        self.use.interrupted()
        self.host.cut_off(self.instance, "" if proven else CUT)
        self.host.settle()
        self.host.cut_off(self.instance, "")
        self.cut = False


@pytest.fixture
def world(hours: Clock, alice: User, stella: User, hana: User, image: Image) -> World:
    grant(alice, 1000 * UNIT)
    host = FakeHost(hana, price=PRICE)
    sell(host, disk_micros_gb_day=4_777_777, price_micros=parse_money(PRICE))
    instance = order(alice, host, disk=60)
    disk = Oracle(Fraction(instance.disk_micros_per_day, us(DAY)), clock.now(), clock.now())
    made = World(alice, stella, host, instance, Use(Fraction(parse_money(PRICE), us(HOUR))), disk)
    host.settle()
    made.use.proven(clock.now())
    made.use.began = clock.now()
    return made


def act(world: World, dice: random.Random) -> None:
    """One thing goes wrong or right, where it can."""
    state = world.state
    if state == "running":
        dice.choice(
            [
                world.stop,
                world.break_engine,
                world.report,
                world.turn,
                world.turn,
                *[world.lose_disk] * 2,
                *[world.find_disk] * 2,
            ]
        )()
    elif state in ("stopped", "failed") and dice.random() < 0.6:
        world.start()
    if world.reports and world.state in ("stopped", "failed") and dice.random() < 0.4:
        world.decide(upheld=dice.random() < 0.6)


@pytest.mark.parametrize("seed", range(examples(7, long=20)))
def test_faults_that_come_together_cost_what_fractions_say(world: World, hours: Clock, seed: int) -> None:
    dice = random.Random(seed)
    silent = 0
    for _ in range(45):
        hours.advance(seconds=dice.choice([3, 20, 60, 110, 119, 120]), microseconds=dice.randrange(10**6) if silent else 0)
        silent = max(0, silent - 1) or (dice.randrange(25) if dice.random() < 0.08 else 0)
        if not silent:
            world.sync()
            if dice.random() < 0.4:
                act(world, dice)
        if dice.random() < 0.5:
            run_sweeps()
            world.disk.sweep(clock.now())
    if dice.random() < 0.5:
        written_off(world, hours)
    else:
        end(world, hours)
    source = world.instance.pk
    assert net(source, INSTANCE_SOURCE) == world.use.micros
    assert net(source, DISK_SOURCE) == world.disk.micros
    total = world.use.micros + world.disk.micros
    assert total >= 0
    paid = sum(
        Entry.objects.filter(wallet__owner=world.renter).exclude(kind="credit").values_list("amount_micros", flat=True)
    )
    assert -paid == total, "from the wallet has gone what was used, less what was given back"
    earned = sum(Entry.objects.filter(wallet__owner=world.host.owner).values_list("amount_micros", flat=True))
    assert 0 <= earned <= total
    assert metering_findings() == []
    assert_sound()


def end(world: World, hours: Clock) -> None:
    """It is stopped, and its disk let go when the host is heard."""
    hours.advance(seconds=20)
    world.sync()
    if world.state == "running":
        world.stop()
    run_sweeps()
    world.disk.sweep(clock.now())
    hours.advance(seconds=60)
    world.sync()
    run_sweeps()
    now = clock.now()
    world.disk.sweep(now)
    world.disk.end(now)
    release_instance(renter=world.renter, instance_id=world.instance.pk)
    world.host.settle()
    assert world.state == "gone"


def written_off(world: World, hours: Clock) -> None:
    """Silent for half an hour, and given up: what runs gets its last hour back, the disk ends at the last report."""
    seen, running = world.disk.seen, world.state == "running"
    hours.advance(minutes=30)
    run_sweeps()
    world.disk.sweep(clock.now())
    write_off_host(staff=world.staff, host_id=world.host.host.pk, reason="It burnt down.", now=clock.now())
    settle_write_offs(now=clock.now())
    now = clock.now()
    world.disk.end(seen)
    if running:
        assert world.use.began is not None
        world.use.give_back(now, now, world.use.began)
    assert world.state == "gone"
    assert not Hold.objects.filter(released_at=None).exists()
    assert not Meter.objects.filter(closed_at=None).exists()
