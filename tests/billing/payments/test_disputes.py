"""Disputes: the wallet gives what it can and never goes below zero, the rest is owed, and a won one comes back."""

import pytest

from accounts.models import User
from billing.models import Dispute, Entry
from billing.payments.selectors import owed_micros, refundable_micros, wallets_in_dispute
from tests.billing.money import START, UNIT, Source, at
from tests.billing.payments.conftest import Market, balance, outside

pytestmark = pytest.mark.django_db


def test_unspent_money_goes_and_comes_back_when_it_is_won(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    made = market.stripe.dispute(str(payment.intent_id))
    market.deliver_all()
    assert (balance(alice), balance(alice, "debt"), outside()) == (0, 0, 0)
    assert (wallets_in_dispute(), refundable_micros(payment)) == ({alice.pk}, 0)
    market.stripe.close_dispute(made["id"], "won")
    market.deliver_all()
    assert (balance(alice), outside(), wallets_in_dispute()) == (100 * UNIT, 100 * UNIT, set())
    assert Dispute.objects.get().state == "won"


def test_fault_077_spent_money_is_owed_and_the_host_keeps_its_share(market: Market, alice: User, hana: User) -> None:
    """Fault 77, by hand: 100 paid, 60 an hour set aside and used up for half of it when the bank takes 100 back.

    Spendable were 40: they go, 60 are owed. The running hour stays paid for; its unused half is freed when it stops.
    """
    payment = market.paid(alice, 100)
    source = Source(alice, hana, rate=60 * UNIT).start()
    source.run(START, at(minutes=30))
    market.stripe.dispute(str(payment.intent_id))
    market.deliver_all()
    assert (balance(alice), balance(alice, "debt")) == (60 * UNIT, -60 * UNIT)
    lines = set(Entry.objects.values_list("pk", "amount_micros"))
    source.close()
    assert (balance(alice), balance(hana, "host")) == (30 * UNIT, 27 * UNIT)
    assert lines <= set(Entry.objects.values_list("pk", "amount_micros"))
    assert (owed_micros(alice.pk), refundable_micros(payment)) == (60 * UNIT, 0)


def test_a_lost_one_stays_and_later_top_ups_repay_it(market: Market, alice: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    source = Source(alice, hana, rate=100 * UNIT).start()
    source.run(START, at(hours=1))
    source.close()
    made = market.stripe.dispute(str(payment.intent_id))
    market.stripe.close_dispute(made["id"], "lost")
    market.deliver_all()
    assert (balance(alice), owed_micros(alice.pk), wallets_in_dispute()) == (0, 100 * UNIT, set())
    market.paid(alice, 130)
    assert (balance(alice), owed_micros(alice.pk)) == (30 * UNIT, 0)


def test_winning_after_the_debt_was_repaid_fills_the_wallet(market: Market, alice: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    source = Source(alice, hana, rate=70 * UNIT).start()
    source.run(START, at(hours=1))
    source.close()
    made = market.stripe.dispute(str(payment.intent_id))
    market.deliver_all()
    assert (balance(alice), owed_micros(alice.pk)) == (0, 70 * UNIT)
    market.paid(alice, 50)
    assert (balance(alice), owed_micros(alice.pk)) == (0, 20 * UNIT)
    market.stripe.close_dispute(made["id"], "won")
    market.deliver_all()
    assert (balance(alice), owed_micros(alice.pk)) == (80 * UNIT, 0)  # 100 back: 20 repay, 80 stay


def test_a_lost_one_may_still_be_won_by_an_appeal(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    made = market.stripe.dispute(str(payment.intent_id))
    market.stripe.close_dispute(made["id"], "lost")
    market.deliver_all()
    market.stripe.close_dispute(made["id"], "won")
    market.deliver_all()
    assert (balance(alice), Dispute.objects.get().state) == (100 * UNIT, "won")


def test_an_inquiry_takes_nothing_until_it_becomes_a_dispute(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    made = market.stripe.dispute(str(payment.intent_id), status="warning_needs_response")
    market.deliver_all()
    assert (balance(alice), Dispute.objects.count()) == (100 * UNIT, 0)
    made["status"] = "needs_response"
    market.stripe._move_money("adjustment", -made["amount"], made)
    market.stripe._tell("charge.dispute.updated", made)
    market.deliver_all()
    assert balance(alice) == 0


def test_one_that_comes_before_the_success(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 100)
    intent = market.stripe.pay(str(payment.session_id))
    market.stripe.dispute(intent["id"], 4000)
    market.deliver(market.stripe.events[-1])
    payment.refresh_from_db()
    assert (payment.state, balance(alice)) == ("succeeded", 60 * UNIT)
