"""Each invariant of coupons and invoices is seen to be broken when it is."""

from datetime import UTC, datetime

import pytest
import time_machine

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.coupons.bonuses import apply_to_top_up
from billing.coupons.codes import redeem_code
from billing.invoices.invoices import issue_invoices
from billing.models import Coupon, CouponDraw, Hold, Invoice, Payment, Wallet
from common.db.transactions import use_case
from tests.billing.coupon_money import BEGIN, UNIT, Run, at, make_percent, redeem
from tests.billing.money import grant, triggers_off

pytestmark = pytest.mark.django_db
AFTER = datetime(2026, 11, 1, 6, tzinfo=UTC)


def codes() -> set[str]:
    with time_machine.travel(AFTER, tick=False):
        return {finding.code for finding in ledger_findings()}


@pytest.fixture
def run(alice: User, hana: User) -> Run:
    with time_machine.travel(BEGIN, tick=False):
        grant(alice, 50 * UNIT)
        redeem(alice, 5)
        return Run(alice, hana).start()


def test_all_is_well(run: Run) -> None:
    assert codes() == set()


def test_a_coupon_that_is_not_covered(run: Run) -> None:
    Coupon.objects.update(remaining_micros=UNIT)
    assert codes() == {"I15"}


def test_coupon_money_that_lies_in_the_wallet_as_cash(run: Run) -> None:
    """The hold is let go without giving back what was drawn for it."""
    Wallet.objects.filter(kind="renter").update(held_micros=0)
    Hold.objects.update(released_at=BEGIN)
    assert "I16" in codes()
    CouponDraw.objects.update(closed_at=BEGIN)
    assert "I16" not in codes()


def test_a_number_that_is_missing_and_a_total_that_is_wrong(run: Run) -> None:
    run.stop_at(at(minutes=30))
    with time_machine.travel(AFTER, tick=False):
        issue_invoices(now=AFTER)
    assert codes() == set()
    with triggers_off():
        Invoice.objects.update(number=2)
    assert codes() == {"I17"}
    with triggers_off():
        Invoice.objects.update(number=1, total_micros=1)
    assert codes() == {"I17"}


def test_a_bonus_beyond_what_the_kept_part_gives(run: Run, alice: User) -> None:
    make_percent("TEN", 1_000)
    redeem_code(owner_id=alice.pk, code="TEN")
    payment = Payment.objects.create(owner=alice, amount_micros=100 * UNIT)
    with use_case():
        apply_to_top_up(owner_id=alice.pk, payment_id=payment.pk, amount_micros=payment.amount_micros)
    assert codes() == set()
    Coupon.objects.filter(payment=payment).update(repaid_micros=1)
    assert codes() == {"I34"}
    Coupon.objects.filter(payment=payment).update(repaid_micros=0)
    Payment.objects.filter(pk=payment.pk).update(refunded_micros=50 * UNIT)
    assert "I34" in codes()
    Coupon.objects.filter(payment=payment).update(waived_micros=5 * UNIT)
    assert "I34" not in codes()
