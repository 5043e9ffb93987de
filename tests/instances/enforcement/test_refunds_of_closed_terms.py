"""What a report that is upheld refunds, in every mode and also after its term has ended, against fractions.

Each second is refunded as what it was charged: by the host its share, by the market its fee, to the renter's wallet or,
where coupons paid, to them; what a term that goes on gets back lies in escrow until its end.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from accounts.models import User
from billing.coupons.codes import create_code, redeem_code
from billing.models import Wallet
from common import clock
from common.money import parse_money
from instances.enforcement.fault_reports import decide_report, report_fault
from instances.lifecycle.start import start_instance
from instances.models import FaultReport, Instance, Term
from instances.release.services import release_instance
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.write_offs import write_off_host
from tests.billing.oracle import DAY, HOUR, SECOND, Price, half_up
from tests.instances.fake_host import FakeHost, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, pass_time, running, sell
from tests.instances.spot.bidders import bid, bid_of, with_spot

LIST = parse_money("3.337340")  # an hour: few seconds cost a whole number of micro-units
TERM = LIST * 95 // 100
HOURLY, RESERVED = Price(((0, LIST),)), Price(((0, TERM),))
TIERED = Price(((0, LIST), (2 * HOUR, LIST * 90 // 100), (4 * HOUR, LIST * 75 // 100)))


@dataclass(frozen=True)
class Use:
    """A stretch that was charged at one price, from its meter's opening on."""

    price: Price
    opened: datetime
    ended: datetime


def us(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def refund_of(uses: list[Use], *, until: datetime, most: int = HOUR) -> tuple[int, int]:
    """What the last hour before `until` was charged, and the fee in it: differences of rounded sums, cut at the tiers."""
    refund = fee = 0
    for use in reversed(uses):
        end = us(min(use.ended, until) - use.opened)
        begin = max(0, end - most)
        most -= max(0, end - begin)
        if begin < end:
            before, after = use.price.rounded(begin), use.price.rounded(end)
            refund += after - before
            fee += half_up(Fraction(after, 10)) - half_up(Fraction(before, 10))
    return refund, fee


def money(renter: User, host: FakeHost) -> dict[str, int]:
    own = Wallet.objects.filter(owner=renter, kind__in=["renter", "coupon"]).values_list("kind", "balance_micros")
    host_wallet = Wallet.objects.filter(owner=host.owner, kind="host").values_list("kind", "balance_micros")
    market = Wallet.objects.filter(owner=None, kind__in=["platform", "escrow"]).values_list("kind", "balance_micros")
    return dict.fromkeys(("renter", "coupon", "host", "platform", "escrow"), 0) | dict([*own, *host_wallet, *market])


@dataclass
class World:
    renter: User
    staff: User
    host: FakeHost
    hours: Clock

    def passes(self, micros: int) -> None:
        pass_time(self.host, self.hours, micros // SECOND, first=3 * 3600)

    def reports(self, instance: Instance) -> datetime:
        report_fault(renter=self.renter, instance_id=instance.pk, detail="Nothing answers at its port.")
        self.host.settle()
        return clock.now()

    def upholds(self) -> dict[str, int]:
        """What the oldest open report moves when it is upheld; upholding it again moves nothing."""
        report = FaultReport.objects.filter(verdict="open").order_by("opened_at")[0]
        before = money(self.renter, self.host)
        for _ in range(2):
            decide_report(staff=self.staff, report_id=report.pk, upheld=True)
        after = money(self.renter, self.host)
        assert_all_well()
        return {kind: after[kind] - before[kind] for kind in before}


@pytest.fixture
def world(rin: User, stella: User, host: FakeHost, hours: Clock) -> World:
    sell(host, price_micros=LIST, disk_micros_gb_day=0)
    return World(rin, stella, host, hours)


def moved(refund: int, fee: int, **to: int) -> dict[str, int]:
    """The host and the market give, and these get; by default the renter's wallet."""
    gets = to or {"renter": refund}
    return {"renter": 0, "coupon": 0, "escrow": 0, "host": fee - refund, "platform": -fee, **gets}


@pytest.mark.parametrize(
    ("mode", "price", "ran"), [("hourly", HOURLY, 4_001 * SECOND), ("tiered", TIERED, 2 * HOUR + 1_807 * SECOND)]
)
def test_use_by_the_hour(world: World, mode: str, price: Price, ran: int) -> None:
    opened = clock.now()
    instance = running(world.renter, world.host, mode)
    world.passes(ran)
    ended = world.reports(instance)
    assert world.upholds() == moved(*refund_of([Use(price, opened, ended)], until=ended))


def test_a_spot_run(world: World) -> None:
    opened = clock.now()
    instance = bid(world.renter, with_spot(world.host), 2.00)
    assert instance.state == "running"
    price = Price(((0, bid_of(instance).price_micros or 0),))
    world.passes(4_001 * SECOND)
    ended = world.reports(instance)
    assert world.upholds() == moved(*refund_of([Use(price, opened, ended)], until=ended))


def test_a_term_that_goes_on_gets_it_into_escrow_and_returns_it_at_its_end(world: World) -> None:
    opened, had = clock.now(), money(world.renter, world.host)
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(4_001 * SECOND)
    ended = world.reports(instance)
    refund, fee = refund_of([Use(RESERVED, opened, ended)], until=ended)
    assert world.upholds() == moved(refund, fee, escrow=refund)
    world.passes(DAY)
    assert Term.objects.get().state == "ended"
    now = money(world.renter, world.host)
    assert had["renter"] - now["renter"] == RESERVED.rounded(4_001 * SECOND) - refund
    assert now["escrow"] == 0
    assert_all_well()


def test_a_report_that_is_decided_after_its_term_has_ended(world: World) -> None:
    opened, had = clock.now(), money(world.renter, world.host)
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(4_001 * SECOND)
    ended = world.reports(instance)
    world.passes(DAY)
    assert Term.objects.get().state == "ended"
    refund, fee = refund_of([Use(RESERVED, opened, ended)], until=ended)
    assert world.upholds() == moved(refund, fee)
    now = money(world.renter, world.host)
    assert had["renter"] - now["renter"] == RESERVED.rounded(4_001 * SECOND) - refund
    assert now["escrow"] == 0


def test_a_run_that_outlives_its_term(world: World) -> None:
    """Its last hour is partly the term's, which has ended, and partly charged by the hour."""
    opened = clock.now()
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(DAY + 607 * SECOND)
    over = Term.objects.get().ends_at
    ended = world.reports(instance)
    uses = [Use(RESERVED, opened, over), Use(HOURLY, over, ended)]
    assert world.upholds() == moved(*refund_of(uses, until=ended))


def test_a_term_that_its_renter_has_ended(world: World) -> None:
    opened = clock.now()
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(4_001 * SECOND)
    ended = world.reports(instance)
    release_instance(renter=world.renter, instance_id=instance.pk)
    world.host.settle()
    assert (reload(instance).state, Term.objects.get().state) == ("gone", "exited")
    assert world.upholds() == moved(*refund_of([Use(RESERVED, opened, ended)], until=ended))
    assert money(world.renter, world.host)["escrow"] == 0


def test_a_run_that_its_host_has_ended_too_is_refunded_once(world: World) -> None:
    """The host fails while it is asked to stop; then its term ends, and the report is upheld."""
    opened, had = clock.now(), money(world.renter, world.host)
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(1_801 * SECOND)
    world.host.end(instance, "gpu_lost")
    world.host.sync()
    failed = clock.now()
    world.passes(600 * SECOND)
    start_instance(renter=world.renter, instance_id=instance.pk)
    world.host.settle()
    again_at = clock.now()
    world.passes(901 * SECOND)
    ended = world.reports(instance)
    world.passes(DAY)
    refund, fee = refund_of([Use(RESERVED, again_at, ended)], until=ended)
    assert world.upholds() == moved(refund, fee)
    used = RESERVED.rounded(1_801 * SECOND) + RESERVED.rounded(901 * SECOND)
    of_fault, _fee = refund_of([Use(RESERVED, opened, failed)], until=failed)
    assert had["renter"] - money(world.renter, world.host)["renter"] == used - of_fault - refund == 0


@pytest.mark.parametrize("coupon_hours", [100_000_000, 80_000_000])
def test_what_coupons_paid_goes_back_to_them(world: World, coupon_hours: int) -> None:
    """No more cash comes back than was paid in cash: of 80 in coupons the rest of a day's price, of 100 none."""
    create_code(code="DAY", kind="fixed", amount_micros=coupon_hours, actor="staff", confirmed_by="second")
    redeem_code(owner_id=world.renter.pk, code="DAY")
    opened = clock.now()
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(DAY)
    ended = Term.objects.get().ends_at
    assert Term.objects.get().state == "ended"
    reported = world.reports(instance)
    refund, fee = refund_of([Use(RESERVED, opened, ended)], until=reported)
    cash = min(refund, max(0, 24 * TERM - coupon_hours))
    assert world.upholds() == moved(refund, fee, renter=cash, coupon=refund - cash)


def test_two_reports_of_one_hour(world: World) -> None:
    """The later one is upheld first; the hours of a day are two at most, and none of them is refunded twice."""
    runs = []
    instance = running(world.renter, world.host, "reserved", term="day")
    for seconds in (3_001, 2_003, 3_607):
        begun = clock.now()
        world.passes(seconds * SECOND)
        runs.append((begun, world.reports(instance)))
        start_instance(renter=world.renter, instance_id=instance.pk)
        world.host.settle()
    release_instance(renter=world.renter, instance_id=instance.pk)
    world.host.settle()
    left = 2 * HOUR
    for begun, ended in runs:
        most = min(HOUR, left)
        left -= min(most, us(ended - begun))
        assert world.upholds() == moved(*refund_of([Use(RESERVED, begun, ended)], until=ended, most=most))
    assert left == 0


def test_a_write_off_in_between(world: World) -> None:
    opened, had = clock.now(), money(world.renter, world.host)
    instance = running(world.renter, world.host, "reserved", term="day")
    world.passes(4_001 * SECOND)
    ended = world.reports(instance)
    world.hours.advance(minutes=30)
    write_off_host(staff=world.staff, host_id=world.host.host.pk, reason="It burnt down.", now=clock.now())
    settle_write_offs(now=clock.now())
    assert (reload(instance).state, Term.objects.get().state) == ("gone", "ended")
    refund, fee = refund_of([Use(RESERVED, opened, ended)], until=ended)
    assert world.upholds() == moved(refund, fee)
    now = money(world.renter, world.host)
    assert had["renter"] - now["renter"] == RESERVED.rounded(4_001 * SECOND) - refund
    assert now["escrow"] == 0
