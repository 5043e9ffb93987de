"""Percent coupons: a top-up that is credited gives its part, and what goes back to the card takes its part back."""

from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from billing.coupons.codes import redeem_code
from billing.errors import RefundRefused
from billing.ledger.trace_selectors import owed_money
from billing.models import Coupon, Payment, Wallet
from billing.payments.refunds import refund_own, refund_payment, send_refund
from billing.payments.selectors import refundable_micros
from common.ids import public_id
from tests.billing.coupon_money import Run, at, make_percent
from tests.billing.money import UNIT
from tests.billing.payments.conftest import Market, balance, outside

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


# -- a bonus that was spent before its top-up went back


@pytest.fixture
def spent(market: Market, alice: User, hana: User) -> Payment:
    """100.00 with a bonus of 20 %, which a run at Hana's has used up."""
    make_percent("TWENTY", 2_000)
    redeem_code(owner_id=alice.pk, code="TWENTY")
    payment = market.paid(alice, 100)
    Run(alice, hana, rate=20 * UNIT).start().stop_at(at(hours=1))
    assert (balance(alice), in_coupon()) == (100 * UNIT, 0)
    return payment


def test_a_used_bonus_is_paid_for_when_its_top_up_goes_back(market: Market, spent: Payment, alice: User) -> None:
    """83.33 back leaves 16.67, which give 3.334 of bonus: the other 16.666 of the 20.00 used are paid for."""
    client, address = Client(), f"/wallet/top-ups/{public_id('topup', spent.pk)}"
    client.force_login(alice)
    page = client.get(address).content.decode()
    assert "Refund $83.33" in page
    assert "$16.666 will be deducted from your wallet for it." in page
    form = {"amount": 83_330_000, "bonus": 16_666_000, "key": str(uuid4())}
    for _ in range(2):
        assert client.post(f"{address}/refund", form).status_code == 302
    assert (balance(alice), outside(), Coupon.objects.get().repaid_micros) == (4_000, 16_670_000, 16_666_000)
    assert "used bonus of a refunded top-up" in client.get("/wallet").content.decode()
    spent.refresh_from_db()
    assert refundable_micros(spent) == 0
    token = issue_token(user=alice, name="t", scopes=["billing:read"])[1]
    api = Client(headers={"authorization": f"Bearer {token}"})
    topup = api.get(f"/api/v1/topups/{public_id('topup', spent.pk)}").json()
    assert topup["bonus"] == {"given": "20.00", "used": "20.00", "repaid": "16.666"}
    assert (topup["refundable"], topup["refund_takes"]) == ("0.00", "0.00")


def test_what_the_page_did_not_name_is_not_taken(market: Market, spent: Payment, alice: User) -> None:
    with pytest.raises(RefundRefused) as refusal:
        refund_own(payment=spent, amount_micros=50 * UNIT, refund_id=uuid4(), most_bonus_micros=9_999_999)
    assert (refusal.value.extra, balance(alice)) == ({"bonus": "10.00"}, 100 * UNIT)
    with pytest.raises(RefundRefused) as refusal:
        refund_own(payment=spent, amount_micros=84 * UNIT, refund_id=uuid4(), most_bonus_micros=20 * UNIT)
    assert refusal.value.extra == {"refundable": "83.33"}
    refund_own(payment=spent, amount_micros=50 * UNIT, refund_id=uuid4(), most_bonus_micros=10 * UNIT)
    assert balance(alice) == 40 * UNIT


def test_staff_read_what_the_bonus_took(market: Market, spent: Payment, stella: User, alice: User) -> None:
    client, address = Client(), f"/admin/billing/payment/{spent.pk}/change/"
    client.force_login(stella)
    assert "16.666" in client.get(address).content.decode()
    empty = {f"{name}-{part}": "0" for name in ("refunds", "disputes") for part in ("TOTAL_FORMS", "INITIAL_FORMS")}
    form = {"refund": "50", "reason": "asked", "key": uuid4().hex, **empty}
    assert (
        "10.00 was deducted from the wallet for the used bonus" in client.post(address, form, follow=True).content.decode()
    )
    assert balance(alice) == 40 * UNIT


def test_a_refund_that_fails_gives_back_what_was_paid_for_the_bonus(market: Market, spent: Payment, alice: User) -> None:
    part = refund_payment(payment_id=spent.pk, amount_micros=50 * UNIT, reason="x", actor="test", refund_id=uuid4())
    send_refund(refund_id=part.pk)
    assert (balance(alice), Coupon.objects.get().repaid_micros) == (40 * UNIT, 10 * UNIT)
    part.refresh_from_db()
    market.stripe.fail_refund(str(part.stripe_id))
    market.deliver_all()
    assert (balance(alice), Coupon.objects.get().repaid_micros) == (100 * UNIT, 0)


def test_what_is_set_aside_counts_until_it_comes_back(market: Market, waiting: User, hana: User) -> None:
    """10.00 of bonus in a hold: 100.00 less 90.90 leaves 9.10, which give 0.91. The run uses none of it."""
    payment = market.paid(waiting, 100)
    run = Run(waiting, hana, rate=10 * UNIT).start()
    refund_payment(payment_id=payment.pk, amount_micros=90_900_000, reason="x", actor="test", refund_id=uuid4())
    assert (balance(waiting), in_coupon()) == (10 * UNIT + 10_000, 0)
    run.close()
    assert (balance(waiting), in_coupon(), Coupon.objects.get().repaid_micros) == (9_100_000, 910_000, 0)


def test_a_bank_that_takes_the_top_up_back_leaves_the_used_bonus_owed(
    market: Market, spent: Payment, alice: User, hana: User
) -> None:
    made = market.stripe.dispute(str(spent.intent_id), 10_000)
    market.deliver_all()
    assert (balance(alice), balance(alice, "debt"), balance(hana, "host")) == (0, -20 * UNIT, 18 * UNIT)
    assert owed_money().at_host(Wallet.objects.get(owner=hana, kind="host").pk) == 0  # its money was the market's gift
    market.stripe.close_dispute(made["id"], "won")
    market.deliver_all()
    assert (balance(alice), balance(alice, "debt")) == (100 * UNIT, 0)


def test_a_refund_at_stripes_site_takes_the_used_bonus_too(market: Market, spent: Payment, alice: User) -> None:
    market.stripe.refund_by_hand(str(spent.intent_id), 10_000)
    market.deliver_all()
    assert (balance(alice), balance(alice, "debt")) == (0, -20 * UNIT)
    market.paid(alice, 30)
    assert (balance(alice), balance(alice, "debt")) == (10 * UNIT, 0)
