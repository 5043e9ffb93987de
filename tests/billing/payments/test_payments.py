"""Top-ups over real HTTP: credited once, by the messages alone, in whatever order and however often they come."""

from uuid import uuid4

import pytest

from accounts.errors import TooMany
from accounts.models import User
from billing.constants import CHECKOUTS_AT_MOST
from billing.errors import PaymentsOff, StripeUnreachable
from billing.models import AccountLink, Order, Payment, PaymentProfile, Posting
from billing.payments.cards import remove_card
from billing.payments.payments import check_pending_payments, draft_top_up, start_top_up
from billing.payments.selectors import pending_micros
from billing.people.related_accounts import related_accounts
from common import clock
from common.errors import InvalidInput
from tests.billing.money import UNIT, triggers_off
from tests.billing.payments.conftest import Market, balance, outside

pytestmark = pytest.mark.django_db


def test_fault_070_a_payment_in_another_currency_is_not_credited(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 25)
    market.stripe.objects["checkout/sessions"][str(payment.session_id)]["_currency"] = "jpy"
    market.stripe.pay(str(payment.session_id))
    market.deliver_all()
    payment.refresh_from_db()
    assert (payment.state, balance(alice), outside()) == ("pending", 0, 0)


def test_fault_075_a_paid_page_is_credited_by_its_messages_alone(market: Market, alice: User) -> None:
    """Fault 75: the renter closes the page; nothing but the webhook tells."""
    payment = market.top_up(alice, 25)
    assert (payment.state, balance(alice)) == ("pending", 0)
    assert payment.checkout_url.startswith("https://checkout.example/cs_")
    market.stripe.pay(str(payment.session_id))
    assert balance(alice) == 0
    market.deliver_all()
    payment.refresh_from_db()
    assert (payment.state, balance(alice), outside()) == ("succeeded", 25 * UNIT, 25 * UNIT)
    assert (payment.checkout_url, payment.paid_at is not None) == ("", True)
    assert market.stripe.balance() == 25 * 100
    assert Order.objects.get(kind="top_up").amount_micros == 25 * UNIT


def test_an_account_is_known_by_its_cards_also_when_it_keeps_none(market: Market, alice: User, bob: User) -> None:
    """By its fingerprint, which is the same for two customers of Stripe's; removing a saved card does not undo it."""
    market.stripe.fingerprint = "Xt5EWLLDS7FJjR1c"
    market.paid(alice, 25)
    market.paid(alice, 25, save_card=True)
    assert list(AccountLink.objects.values_list("owner", "kind", "value")) == [(alice.pk, "card", "Xt5EWLLDS7FJjR1c")]
    assert related_accounts(alice.pk) == {alice.pk}
    market.paid(bob, 25)
    remove_card(owner_id=alice.pk)
    assert related_accounts(alice.pk) == related_accounts(bob.pk) == {alice.pk, bob.pk}


def test_the_same_messages_again_credit_nothing_more(market: Market, alice: User) -> None:
    market.paid(alice, 25)
    for _ in range(3):
        market.deliver_all()
    assert balance(alice) == 25 * UNIT
    assert (Posting.objects.filter(kind="top_up").count(), Payment.objects.count()) == (1, 1)


def test_the_same_key_is_the_same_payment_and_the_same_page(market: Market, alice: User, bob: User) -> None:
    first, second = market.top_up(alice, 25, key="k"), market.top_up(alice, 25, key="k")
    assert (first.pk, first.checkout_url) == (second.pk, second.checkout_url)
    assert market.stripe.requests.count("POST checkout/sessions") == 1
    assert market.top_up(bob, 25, key="k").pk != first.pk
    with pytest.raises(InvalidInput, match="a different amount"):
        market.top_up(alice, 30, key="k")


def test_fault_076_an_answer_that_was_lost_makes_no_second_page(market: Market, alice: User) -> None:
    """Fault 76: Stripe made the page, and nobody heard; the same key again gets that page."""
    market.paid(alice, 25)  # so that the customer exists
    market.stripe.lost_replies = 2  # the library itself asks twice
    with pytest.raises(StripeUnreachable):
        market.top_up(alice, 40, key="again")
    assert len(market.stripe.objects["checkout/sessions"]) == 2
    payment = market.top_up(alice, 40, key="again")
    assert len(market.stripe.objects["checkout/sessions"]) == 2
    market.stripe.pay(str(payment.session_id))
    market.deliver_all()
    assert balance(alice) == 65 * UNIT


@pytest.mark.parametrize("units", [0, 4, 5001])
def test_amounts_have_limits(market: Market, alice: User, units: int) -> None:
    with pytest.raises(InvalidInput):
        market.top_up(alice, units)
    with pytest.raises(InvalidInput):
        start_top_up(owner=alice, amount_micros=10 * UNIT + 1)
    assert market.stripe.requests == []


def test_a_draft_asks_stripe_nothing(market: Market, alice: User) -> None:
    assert draft_top_up(owner=alice, amount_micros=25 * UNIT).amount_micros == 25 * UNIT
    assert (market.stripe.requests, Payment.objects.count()) == ([], 0)


def test_without_a_key_nothing_is_begun(alice: User) -> None:
    with pytest.raises(PaymentsOff):
        start_top_up(owner=alice, amount_micros=25 * UNIT)
    assert Payment.objects.count() == 0
    assert check_pending_payments() == 0


def test_a_refused_card_leaves_the_page_open_for_another(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 25)
    intent = market.stripe.refuse(str(payment.session_id))
    market.deliver_all()
    payment.refresh_from_db()
    assert (payment.state, payment.failure) == ("pending", "Your card was declined.")
    assert pending_micros(alice.pk) == 0
    intent |= {"status": "processing", "last_payment_error": None}  # a bank that takes its time
    market.stripe._tell("payment_intent.processing", intent)
    market.deliver_all()
    assert pending_micros(alice.pk) == 25 * UNIT
    market.stripe.pay(str(payment.session_id))
    market.deliver_all()
    payment.refresh_from_db()
    assert (payment.state, payment.failure, balance(alice)) == ("succeeded", "", 25 * UNIT)


def test_a_page_that_expires_ends_its_payment(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 25)
    market.stripe.expire(str(payment.session_id))
    market.deliver_all()
    payment.refresh_from_db()
    assert (payment.state, balance(alice)) == ("expired", 0)


def test_an_expiry_that_nobody_told_of_is_found_after_a_day(market: Market, alice: User) -> None:
    payment, unopened = market.top_up(alice, 25), Payment.objects.create(owner=alice, amount_micros=UNIT)
    market.stripe.expire(str(payment.session_id))
    assert check_pending_payments() == 0
    Payment.objects.update(created_at=clock.now().replace(year=2025))
    assert check_pending_payments() == 1
    assert set(Payment.objects.values_list("state", flat=True)) == {"expired"}
    assert unopened.pk is not None


def test_a_payment_without_a_row_is_known_by_its_marks(market: Market, alice: User) -> None:
    """Fault 82: a backup was restored; Stripe has money for which we have no row."""
    payment = market.top_up(alice, 25)
    market.stripe.pay(str(payment.session_id))
    payment_id = payment.pk
    with triggers_off():  # the backup is older than the row and its record
        payment.delete()
    market.deliver_all()
    assert Payment.objects.get().pk == payment_id
    assert balance(alice) == 25 * UNIT


def test_what_is_not_ours_is_left_alone(market: Market, alice: User) -> None:
    intent = market.stripe._intent(500, "usd", {}, "cus_other")
    market.stripe._settle(intent)
    other_intent = market.stripe._intent(500, "usd", {"berth_payment": uuid4().hex, "berth_owner": uuid4().hex}, "cus_x")
    market.stripe._settle(other_intent)
    market.deliver_all()
    assert (Payment.objects.count(), outside()) == (0, 0)


def test_another_currency_is_not_credited(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 25)
    market.stripe.objects["checkout/sessions"][str(payment.session_id)]["_currency"] = "eur"
    market.stripe.pay(str(payment.session_id))
    market.deliver_all()
    assert balance(alice) == 0


def test_two_charges_for_one_payment_are_both_credited(market: Market, alice: User) -> None:
    """I10: whatever Stripe has taken for us stands in the ledger, once for each charge."""
    payment = market.paid(alice, 25)
    marks = market.stripe.objects["payment_intents"][str(payment.intent_id)]["metadata"]
    market.stripe._settle(market.stripe._intent(2500, "usd", marks, "cus_x"))
    market.deliver_all()
    market.deliver_all()
    assert (balance(alice), Payment.objects.count()) == (50 * UNIT, 2)


def test_open_pages_are_limited(market: Market, alice: User) -> None:
    rows = [Payment(owner=alice, amount_micros=UNIT) for _ in range(CHECKOUTS_AT_MOST)]
    Payment.objects.bulk_create(rows)
    with pytest.raises(TooMany):
        market.top_up(alice)


def test_the_card_is_kept_where_its_holder_wants_it(market: Market, alice: User, bob: User) -> None:
    market.paid(alice, 25, save_card=True)
    market.paid(bob, 25)
    profile = PaymentProfile.objects.get(pk=alice.pk)
    assert (profile.card_brand, profile.card_last4, profile.card_id[:3]) == ("visa", "4242", "pm_")
    assert PaymentProfile.objects.get(pk=bob.pk).card_id == ""


def test_a_whole_currency_is_charged_in_whole_units(market: Market, alice: User, settings: object) -> None:
    settings.MARKET_CURRENCY = "JPY"  # type: ignore[attr-defined]  # pytest-django's
    payment = market.paid(alice, 3000)
    assert market.stripe.balance() == 3000
    assert (payment.amount_micros, balance(alice)) == (3000 * UNIT, 3000 * UNIT)
    with pytest.raises(InvalidInput):
        start_top_up(owner=alice, amount_micros=1000 * UNIT + UNIT // 2)
