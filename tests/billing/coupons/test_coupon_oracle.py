"""Random lives of coupons against a small oracle: no micro-unit is made, lost, or turned into cash."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from billing.coupons.bonuses import apply_to_top_up
from billing.coupons.codes import expire_coupons, redeem_code
from billing.errors import InsufficientFunds
from billing.metering.host_fault_credits import credit_source
from billing.metering.settle import settle_meters
from billing.models import Coupon, Payment
from billing.pricing.tariffs import Scope
from common.db.transactions import use_case
from tests.billing.coupon_money import BEGIN, UNIT, Run, assert_whole, make_percent, micros, redeem
from tests.billing.money import grant, make_user
from tests.profiles import examples

pytestmark = pytest.mark.django_db

SCOPES = (Scope("hourly", "rtx-4090"), Scope("spot", "rtx-4090"), Scope("hourly", "t4"))
FITS: dict[str, dict[str, list[str]]] = {"any": {}, "spot": {"modes": ["spot"]}, "t4": {"gpu_models": ["t4"]}}


@dataclass
class Fund:
    """The oracle's coupon: what is in it, until when, and for what."""

    row: Coupon
    fits: str
    left: int
    ends: datetime | None
    gone: int = 0

    def pays_for(self, scope: Scope, now: datetime) -> bool:
        fits = {"any": True, "spot": scope.mode == "spot", "t4": scope.gpu_model == "t4"}[self.fits]
        return fits and self.left > 0 and (self.ends is None or self.ends > now)

    @property
    def order(self) -> tuple[bool, datetime, datetime, str]:
        return self.ends is None, self.ends or BEGIN, self.row.redeemed_at, str(self.row.pk)


@dataclass
class Lease:
    """The oracle's instance: what each coupon put into its hold and was not used, and what was charged and used."""

    run: Run
    since: datetime
    unused: dict[int, int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    charged: int = 0
    over: bool = False


class Book:
    """Plays each step through the services and by the rules; both must agree after every step."""

    def __init__(self) -> None:
        self.renter, self.host = make_user("renter"), make_user("host")
        self.now = BEGIN
        self.cash = 30 * UNIT
        grant(self.renter, self.cash)
        self.funds: list[Fund] = []
        self.leases: list[Lease] = []

    def redeem(self, units: int, fits: str, days: int | None) -> None:
        row = redeem(self.renter, units, valid_days=days, **FITS[fits])
        self.funds.append(Fund(row, fits, units * UNIT, row.expires_at))

    def top_up(self, units: int, bps: int) -> None:
        code = make_percent(f"P-{uuid.uuid4().hex[:12]}", bps)
        row = redeem_code(owner_id=self.renter.pk, code=code)
        payment = Payment.objects.create(owner=self.renter, amount_micros=units * UNIT)
        with use_case():
            given = apply_to_top_up(owner_id=self.renter.pk, payment_id=payment.pk, amount_micros=units * UNIT)
        assert given == units * UNIT * bps // 10_000
        self.funds.append(Fund(row, "any", given, None))

    def start(self, scope: Scope, rate: int) -> None:
        run = Run(self.renter, self.host, scope, rate=rate)
        fit = sorted((fund for fund in self.funds if fund.pays_for(scope, self.now)), key=lambda fund: fund.order)
        held = sum(self._held(lease) for lease in self.leases if not lease.over)
        affordable = self.cash - held + sum(fund.left for fund in fit) >= rate
        if not affordable:
            with pytest.raises(InsufficientFunds):
                run.hold()
            return
        run.start(self.now)
        lease, wanted = Lease(run, self.now), rate
        for fund in fit:
            part = min(wanted, fund.left)
            if part:
                fund.left -= part
                lease.unused[self.funds.index(fund)] = part
            wanted -= part
        self.leases.append(lease)

    def _held(self, lease: Lease) -> int:
        """The cash in its hold: what its use has not consumed of what the coupons did not give."""
        given = sum(lease.unused.values()) + sum(lease.used.values())
        return lease.run.rate - max(given, lease.charged)

    def stop(self, lease: Lease, *, broken: bool) -> None:
        """At most an hour is paid for. By the second at a rate that divides by 3,600, so the price is exact."""
        until = min(self.now, lease.since + timedelta(hours=1))
        lease.run.prove(until)
        lease.run.close()
        cost = lease.run.rate // 3600 * int((until - lease.since).total_seconds())
        self._pay(lease, cost - lease.charged)
        for place, amount in lease.unused.items():
            self.funds[place].left += amount
        lease.unused, lease.over = {}, True
        if broken and cost:
            self._give_back(lease, cost)

    def settle(self) -> None:
        """Full hours of open meters are posted: here exactly the one that is paid for."""
        for lease in self.leases:
            if not lease.over:
                lease.run.prove(min(self.now, lease.since + timedelta(hours=1)))
        settle_meters(now=self.now)
        for lease in self.leases:
            if not lease.over and self.now >= lease.since + timedelta(hours=1):
                self._pay(lease, lease.run.rate - lease.charged)

    def expire(self) -> None:
        expire_coupons(now=self.now)
        for fund in self.funds:
            if fund.ends is not None and fund.ends <= self.now:
                fund.gone, fund.left = fund.gone + fund.left, 0

    def _pay(self, lease: Lease, cost: int) -> None:
        lease.charged += cost
        for place in sorted(lease.unused, key=lambda place: self.funds[place].order):
            part = min(cost, lease.unused[place])
            lease.unused[place] -= part
            lease.used[place] = lease.used.get(place, 0) + part
            cost -= part
        self.cash -= cost

    def _give_back(self, lease: Lease, cost: int) -> None:
        """All that the run cost: the cash part as cash, the coupon part into the coupons."""
        with use_case():
            credit_source(
                source_kind="instance",
                source_id=lease.run.key,
                key=lease.run.key.hex,
                since=lease.since,
                until=self.now + timedelta(seconds=1),
                reason="host lost",
                actor="test",
            )
        self.cash += cost - sum(lease.used.values())
        for place, amount in lease.used.items():
            self.funds[place].left += amount
        lease.used = {}

    def check(self) -> None:
        for fund in self.funds:
            fund.row.refresh_from_db()
            assert fund.row.remaining_micros == fund.left
        unused = sum(sum(lease.unused.values()) for lease in self.leases)
        assert micros(self.renter, "renter") == self.cash + unused
        assert micros(self.renter, "coupon") == sum(fund.left for fund in self.funds)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("redeem"), st.integers(1, 12), st.sampled_from(sorted(FITS)), st.sampled_from([None, 1, 3])),
        st.tuples(st.just("top_up"), st.integers(1, 40), st.sampled_from([500, 1_000, 3_000])),
        st.tuples(st.just("start"), st.integers(0, 2), st.sampled_from([3_600_000, 7_200_000, 14_400_000])),
        st.tuples(st.just("wait"), st.integers(1, 4_000)),
        st.tuples(st.just("wait"), st.sampled_from([3_600, 86_400])),
        st.tuples(st.just("stop"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("settle")),
        st.tuples(st.just("expire")),
    ),
    max_size=14,
)


@given(STEPS)
@settings(max_examples=examples(30, long=200), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_services_and_oracle_agree(db: None, steps: list[tuple[object, ...]]) -> None:
    with time_machine.travel(BEGIN, tick=False) as clock:
        book = Book()
        for name, *values in steps:
            play(book, str(name), values)
            clock.move_to(book.now)
            book.check()
        for lease in book.leases:
            if not lease.over:
                book.stop(lease, broken=False)
        book.check()
        cash_out = micros(book.renter, "renter")
        charged_to_cash = sum(lease.charged for lease in book.leases) - sum(
            sum(lease.used.values()) for lease in book.leases
        )
        assert cash_out <= 30 * UNIT
        assert charged_to_cash >= 0
        assert_whole(book.now + timedelta(days=1))


def play(book: Book, name: str, values: list[object]) -> None:
    live = [lease for lease in book.leases if not lease.over]
    if name == "wait":
        book.now += timedelta(seconds=int(str(values[0])))
    elif name == "start":
        scope = SCOPES[int(str(values[0]))]
        book.start(scope, int(str(values[1])))
    elif name == "stop":
        if live:
            book.stop(live[int(str(values[0])) % len(live)], broken=bool(values[1]))
    else:
        getattr(book, name)(*values)


def test_the_oracle_is_not_blind(alice: User) -> None:
    """The positive control: a coupon filled behind the services' back is seen."""
    with time_machine.travel(BEGIN, tick=False):
        book = Book()
        book.redeem(5, "any", None)
        Coupon.objects.filter(pk=book.funds[0].row.pk).update(remaining_micros=4 * UNIT)
        with pytest.raises(AssertionError):
            book.check()
