"""The wallet that fills itself: at most once an hour, at most the month's cap, and its failures are told."""

from datetime import timedelta

import pytest
import time_machine

from accounts.constants import MAIL_CLAIM
from accounts.models import User
from billing.errors import NoSavedCard, PaymentsOff
from billing.models import Payment, PaymentProfile
from billing.payments.auto_top_up import CONFIRMATION_NEEDED, mail_auto_failures, top_up_low_wallets
from billing.payments.cards import AutoRule, customer_of, remove_card, save_auto_rule, start_card_setup
from billing.payments.selectors import profile_of
from common import clock
from common.errors import InvalidInput
from tests.billing.money import UNIT, execute
from tests.billing.payments.conftest import Market, balance
from tests.mails import killed_at, sent

pytestmark = pytest.mark.django_db
RULE = AutoRule(enabled=True, threshold_micros=20 * UNIT, amount_micros=50 * UNIT, monthly_cap_micros=120 * UNIT)


@pytest.fixture
def ruled(market: Market, alice: User) -> User:
    """A card is saved, the rule is set, and the wallet is below it: 10 of 20."""
    market.paid(alice, 10, save_card=True)
    save_auto_rule(owner_id=alice.pk, rule=RULE)
    return alice


def sweep() -> int:
    return top_up_low_wallets(now=clock.now())


def test_a_low_wallet_is_filled_once(market: Market, ruled: User) -> None:
    assert sweep() == 1
    assert balance(ruled) == 60 * UNIT
    assert sweep() == 0
    market.deliver_all()
    assert (balance(ruled), Payment.objects.filter(origin="auto").count()) == (60 * UNIT, 1)


def test_a_worker_that_dies_loses_no_mail_about_a_refused_card(market: Market, ruled: User) -> None:
    market.stripe.card_answers = "card_declined"
    sweep()
    with killed_at("billing.payments.auto_top_up.queue_mail"):
        mail_auto_failures(now=clock.now())
    assert mail_auto_failures(now=clock.now()) == 1
    with killed_at("common.mail.mail.EmailMessage.send"):
        sent()
    with time_machine.travel(clock.now() + MAIL_CLAIM):
        assert (mail_auto_failures(now=clock.now()), len(sent())) == (0, 1)


def test_at_most_once_an_hour(market: Market, ruled: User) -> None:
    save_auto_rule(owner_id=ruled.pk, rule=AutoRule(True, 500 * UNIT, 50 * UNIT, 500 * UNIT))
    with time_machine.travel(clock.now(), tick=False) as moment:
        assert sweep() == 1
        moment.shift(timedelta(minutes=59, seconds=59))
        assert sweep() == 0
        moment.shift(timedelta(seconds=1))
        assert sweep() == 1


def test_at_most_the_cap_of_a_month(market: Market, ruled: User) -> None:
    """120 allow two of 50, not three; the next month begins anew."""
    save_auto_rule(owner_id=ruled.pk, rule=AutoRule(True, 5000 * UNIT, 50 * UNIT, 120 * UNIT))
    charged = []
    with time_machine.travel("2026-12-31 20:00:00Z", tick=False) as moment:
        for _ in range(6):
            charged.append(sweep())
            moment.shift(timedelta(hours=1))
    assert charged == [1, 1, 0, 0, 1, 1]


def test_what_runs_over_the_wallets_held_money_counts(market: Market, ruled: User) -> None:
    execute("UPDATE billing_wallet SET held_micros = 0")
    save_auto_rule(owner_id=ruled.pk, rule=AutoRule(True, 10 * UNIT, 50 * UNIT, 120 * UNIT))
    assert sweep() == 0  # exactly the threshold is enough


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ("card_declined", "Your card was declined."),
        ("authentication_required", CONFIRMATION_NEEDED),
        ("requires_action", CONFIRMATION_NEEDED),
    ],
)
def test_a_refused_card_is_told_once_and_rests(market: Market, ruled: User, answer: str, failure: str) -> None:
    market.stripe.card_answers = answer
    assert sweep() == 0
    payment = Payment.objects.get(origin="auto")
    assert (payment.state, payment.failure, balance(ruled)) == ("failed", failure, 10 * UNIT)
    assert profile_of(ruled.pk).auto_failure == failure
    assert [mail_auto_failures(now=clock.now()) for _ in range(2)] == [1, 0]
    assert [(message.to, failure in message.body) for message in sent()] == [([ruled.email], True)]
    with time_machine.travel(clock.now() + timedelta(hours=2)):
        assert sweep() == 0
        market.stripe.card_answers = "ok"
        save_auto_rule(owner_id=ruled.pk, rule=RULE)
        assert sweep() == 1
    assert balance(ruled) == 60 * UNIT
    market.deliver_all()
    assert (balance(ruled), profile_of(ruled.pk).auto_failure) == (60 * UNIT, "")


def test_an_answer_that_was_lost_charges_once(market: Market, ruled: User) -> None:
    """Fault 76: the card was charged and nobody heard; the next sweep asks with the same key."""
    market.stripe.lost_replies = 2
    assert sweep() == 0
    assert (len(market.stripe.objects["charges"]), balance(ruled)) == (2, 10 * UNIT)
    assert sweep() == 1
    assert (len(market.stripe.objects["charges"]), balance(ruled)) == (2, 60 * UNIT)


def test_one_that_never_answered_is_given_up_and_counts_when_it_was_paid(market: Market, ruled: User) -> None:
    market.stripe.lost_replies = 2
    sweep()
    with time_machine.travel(clock.now() + timedelta(hours=21)):
        PaymentProfile.objects.update(auto_tried_at=clock.now())
        assert sweep() == 0
        assert Payment.objects.get(origin="auto").state == "failed"
    market.deliver_all()
    assert (Payment.objects.get(origin="auto").state, balance(ruled)) == ("succeeded", 60 * UNIT)
    assert profile_of(ruled.pk).auto_failure == ""


def test_rules_are_checked(market: Market, alice: User) -> None:
    with pytest.raises(NoSavedCard):
        save_auto_rule(owner_id=alice.pk, rule=RULE)
    wrong = [(0, 50, 100), (20, 1, 100), (20, 50, 49), (20, 6000, 9000), (6000, 50, 100)]
    for threshold, amount, cap in wrong:
        with pytest.raises(InvalidInput):
            save_auto_rule(owner_id=alice.pk, rule=AutoRule(True, threshold * UNIT, amount * UNIT, cap * UNIT))
    save_auto_rule(owner_id=alice.pk, rule=AutoRule(False, 0, 0, 0))
    assert sweep() == 0


def test_a_card_is_saved_without_paying_and_removed(market: Market, alice: User) -> None:
    address = start_card_setup(owner=alice, key="one")
    assert start_card_setup(owner=alice, key="one") == address
    card = market.stripe.save_card(address.rpartition("/")[2])
    market.deliver_all()
    assert profile_of(alice.pk).card_id == card["id"]
    save_auto_rule(owner_id=alice.pk, rule=RULE)
    remove_card(owner_id=alice.pk)
    remove_card(owner_id=alice.pk)
    profile = profile_of(alice.pk)
    assert (profile.card_id, profile.auto_enabled, card["customer"]) == ("", False, None)
    assert sweep() == 0
    market.deliver_all()  # the old message again does not bring it back
    assert profile_of(alice.pk).card_id == ""


def test_a_customer_is_made_once(market: Market, alice: User) -> None:
    assert customer_of(owner=alice) == customer_of(owner=alice)
    assert len(market.stripe.objects["customers"]) == 1


def test_without_a_key_nothing_is_charged(market: Market, ruled: User, settings: object) -> None:
    settings.STRIPE_SECRET_KEY = ""  # type: ignore[attr-defined]  # pytest-django's
    assert sweep() == 0
    with pytest.raises(PaymentsOff):
        start_card_setup(owner=ruled, key="x")
