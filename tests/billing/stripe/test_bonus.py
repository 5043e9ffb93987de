"""Percent coupons: a top-up that is credited gives its part, and what goes back to the card takes its part back."""

from uuid import uuid4

import pytest

from accounts.models import User
from billing.models import Coupon
from billing.services.coupon_codes import redeem_code
from billing.services.refunds import refund_payment, send_refund
from tests.billing.coupon_money import make_percent
from tests.billing.money import UNIT
from tests.billing.stripe.conftest import Market, balance

pytestmark = pytest.mark.django_db


def in_coupon() -> int:
    return Coupon.objects.get().remaining_micros


@pytest.fixture
def waiting(market: Market, alice: User) -> User:
    """A code of 10 % waits for Alice's next top-up."""
    make_percent("TEN", 1_000)
    redeem_code(owner_id=alice.pk, code="TEN")
    return alice


def test_the_next_top_up_gives_its_part_once(market: Market, waiting: User) -> None:
    market.paid(waiting, 100)
    assert (balance(waiting), in_coupon()) == (100 * UNIT, 10 * UNIT)
    market.deliver_all()
    market.paid(waiting, 50)
    assert (balance(waiting), in_coupon()) == (150 * UNIT, 10 * UNIT)


def test_our_refund_takes_its_part_back_and_a_failed_one_gives_it_again(market: Market, waiting: User) -> None:
    payment = market.paid(waiting, 100)
    part = refund_payment(payment_id=payment.pk, amount_micros=40 * UNIT, reason="x", actor="test", refund_id=uuid4())
    assert (balance(waiting), in_coupon()) == (60 * UNIT, 6 * UNIT)
    send_refund(refund_id=part.pk)
    part.refresh_from_db()
    market.stripe.fail_refund(str(part.stripe_id))
    market.deliver_all()
    assert (balance(waiting), in_coupon()) == (100 * UNIT, 10 * UNIT)


def test_so_do_a_dispute_and_a_refund_before_the_success(market: Market, waiting: User) -> None:
    payment = market.top_up(waiting, 100)
    intent = market.stripe.pay(str(payment.session_id))
    market.stripe.refund_by_hand(intent["id"], 2_000)
    made = market.stripe.dispute(intent["id"], 3_000)
    market.deliver(market.stripe.events[-1])
    assert (balance(waiting), in_coupon()) == (50 * UNIT, 5 * UNIT)
    market.stripe.close_dispute(made["id"], "won")
    market.deliver_all()
    assert (balance(waiting), in_coupon()) == (80 * UNIT, 8 * UNIT)
