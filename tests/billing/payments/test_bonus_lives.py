"""Random lives of top-ups with a bonus: no more of it is ever given than the kept part of its top-up gives."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.coupons.codes import redeem_code
from billing.coupons.rules import bonus_micros
from billing.coupons.selectors import kept_micros
from billing.debts.services import collect_debts
from billing.errors import InsufficientFunds, OwesMoney, RefundRefused
from billing.models import Coupon, CouponDraw, Payment, Refund, Wallet
from billing.payments.payments import sync_intent
from billing.payments.refunds import refund_payment, send_refund
from tests.billing.coupon_money import BEGIN, UNIT, Run, make_percent
from tests.billing.money import make_user
from tests.billing.payments.conftest import Market, balance
from tests.profiles import examples

pytestmark = pytest.mark.django_db


def gifts() -> int:
    return sum(Wallet.objects.filter(kind="gifts").values_list("balance_micros", flat=True))


@dataclass
class Life:
    """One renter, what they paid, what runs for them, and which of it their bank has taken back."""

    market: Market
    renter: User
    host: User
    payments: list[Payment] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    sent: list[Refund] = field(default_factory=list)
    disputes: list[tuple[Payment, str]] = field(default_factory=list)
    hours: int = 0
    gifts_before: int = field(default_factory=gifts)

    def top_up(self, units: int, bps: int) -> None:
        redeem_code(owner_id=self.renter.pk, code=make_percent(f"P-{uuid4().hex[:12]}", bps))
        payment = self.market.top_up(self.renter, units)
        intent = self.market.stripe.pay(str(payment.session_id))
        sync_intent(intent_id=intent["id"])
        payment.refresh_from_db()
        self.payments.append(payment)

    def start(self, units: int) -> None:
        self.hours += 2
        with suppress(InsufficientFunds, OwesMoney):
            self.runs.append(Run(self.renter, self.host, rate=units * UNIT).start(BEGIN + timedelta(hours=self.hours)))

    def stop(self, minutes: int) -> None:
        if self.runs:
            run = self.runs.pop(0)
            run.prove(run.seen + timedelta(minutes=minutes))
            run.close()

    def refund(self, number: int, percent: int) -> None:
        if self.payments:
            payment = self.payments[number % len(self.payments)]
            amount = payment.amount_micros * percent // 100
            with suppress(RefundRefused):
                self.sent.append(
                    refund_payment(
                        payment_id=payment.pk, amount_micros=amount, reason="asked", actor="test", refund_id=uuid4()
                    )
                )
                send_refund(refund_id=self.sent[-1].pk)

    def fail(self) -> None:
        if self.sent:
            refund = self.sent.pop()
            refund.refresh_from_db()
            if refund.state != "failed":
                self.market.stripe.fail_refund(str(refund.stripe_id))
                sync_intent(intent_id=str(refund.payment.intent_id), thorough=True)

    def dispute(self, number: int) -> None:
        disputed = [payment for payment, _name in self.disputes]
        fresh = [payment for payment in self.payments if payment not in disputed]
        if fresh:
            payment = fresh[number % len(fresh)]
            payment.refresh_from_db()
            if kept := kept_micros(payment):
                made = self.market.stripe.dispute(str(payment.intent_id), kept // 10_000)
                self.disputes.append((payment, made["id"]))
                sync_intent(intent_id=str(payment.intent_id), thorough=True)

    def win(self) -> None:
        if self.disputes:
            payment, name = self.disputes.pop()
            self.market.stripe.close_dispute(name, "won")
            sync_intent(intent_id=str(payment.intent_id), thorough=True)

    def collect(self) -> None:
        collect_debts()

    def check(self) -> None:
        given = lawful = 0
        for coupon in Coupon.objects.filter(owner=self.renter, payment__isnull=False).select_related("code", "payment"):
            totals = CouponDraw.objects.filter(coupon=coupon).aggregate(
                drawn=Sum("drawn_micros"), returned=Sum("returned_micros")
            )
            used = (totals["drawn"] or 0) - (totals["returned"] or 0)
            due = bonus_micros(kept_micros(coupon.payment), coupon.code.percent_bps or 0, None)  # type: ignore[arg-type]  # filtered
            assert coupon.remaining_micros + used - coupon.repaid_micros <= due
            given, lawful = given + coupon.remaining_micros + used - coupon.repaid_micros, lawful + due
        assert self.gifts_before - gifts() == given <= lawful
        assert balance(self.renter) >= 0 and balance(self.renter, "coupon") >= 0 and balance(self.renter, "debt") <= 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("top_up"), st.sampled_from([7, 50, 100]), st.sampled_from([333, 2_000, 10_000])),
        st.tuples(st.just("start"), st.sampled_from([3, 18, 90])),
        st.tuples(st.just("start"), st.sampled_from([3, 18, 90])),
        st.tuples(st.just("stop"), st.sampled_from([0, 1, 30, 60])),
        st.tuples(st.just("refund"), st.integers(0, 3), st.sampled_from([1, 25, 50, 100])),
        st.tuples(st.just("refund"), st.integers(0, 3), st.sampled_from([5, 10, 40])),
        st.tuples(st.just("fail")),
        st.tuples(st.just("dispute"), st.integers(0, 3)),
        st.tuples(st.just("win")),
        st.tuples(st.just("collect")),
    ),
    min_size=4,
    max_size=14,
)


@given(STEPS)
@settings(max_examples=examples(12, long=100), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_more_is_given_than_the_kept_part_gives(market: Market, steps: list[tuple[object, ...]]) -> None:
    life = Life(market, make_user("renter"), make_user("host"))
    life.top_up(100, 2_000)
    for name, *values in steps:
        getattr(life, str(name))(*values)
        life.check()
    while life.runs:
        life.stop(1)
    life.check()
    assert [str(finding) for finding in ledger_findings()] == []
