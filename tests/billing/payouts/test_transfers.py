"""Payouts by Stripe over real HTTP: one transfer each, whatever gets lost, however often it is asked for."""

from datetime import datetime, timedelta

import pytest
import time_machine

from accounts.models import User
from billing.ledger.freezes import freeze_money, lift_freeze
from billing.models import Payout
from billing.payouts.accounts import freeze_payouts
from billing.payouts.transfers import check_transfer, send_payout, send_payouts
from tests.billing.money import UNIT, assert_sound, execute, triggers_off
from tests.billing.payouts.connect import CONNECTED, Connect
from tests.billing.payouts.world import NOW, account, ask, balance, earn

pytestmark = pytest.mark.django_db


@pytest.fixture
def payout(hana: User) -> Payout:
    earn(hana, 100, ago=40)
    account(hana, "stripe")
    return ask(hana)


def sweep(at: datetime = NOW) -> int:
    with time_machine.travel(at, tick=False):
        return send_payouts(now=at)


def later(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def state(payout: Payout) -> str:
    payout.refresh_from_db()
    return str(payout.state)


def test_it_is_sent_once(connect: Connect, payout: Payout, hana: User) -> None:
    for at in (NOW, NOW, later(60)):
        sweep(at)
    assert state(payout) == "paid"
    [transfer] = connect.transfers.values()
    assert (transfer["amount"], transfer["currency"], transfer["destination"]) == (9000, "usd", CONNECTED)
    assert payout.reference == transfer["id"]
    assert connect.calls == ["POST /v1/transfers"]
    assert balance(hana) == 0
    assert_sound(later(60))


def test_an_answer_that_is_lost(connect: Connect, payout: Payout) -> None:
    connect.lose_replies = 2  # the library itself tries once more
    sweep()
    assert state(payout) == "sent"
    assert len(connect.transfers) == 1
    assert sweep(later(9)) == 0  # too early to ask again
    sweep(later(11))
    assert state(payout) == "paid"
    assert connect.sent_cents == 9000
    assert_sound(later(11))


def test_an_answer_that_is_lost_and_a_key_that_is_forgotten(connect: Connect, payout: Payout) -> None:
    connect.lose_replies = 2
    sweep()
    connect.forget_keys()
    sweep(later(60 * 48))
    assert state(payout) == "paid"
    assert connect.sent_cents == 9000


def test_a_restored_payout_that_was_sent_after_the_backup(connect: Connect, payout: Payout) -> None:
    """It is pending again, and Stripe has forgotten the key: its transfers are looked through before another is made."""
    sweep()
    with triggers_off():
        execute("UPDATE billing_payout SET state = 'pending', sent_at = NULL, settled_at = NULL, reference = ''")
    connect.forget_keys()
    with time_machine.travel(later(60), tick=False):
        freeze_money(reason="restored")
        lift_freeze(by="the books agree")
    sweep(later(60 * 48))
    assert (state(payout), connect.sent_cents) == ("paid", 9000)
    assert_sound(later(60 * 48))


def test_a_transfer_that_was_reversed_before_it_was_found(connect: Connect, payout: Payout, hana: User) -> None:
    connect.lose_replies = 2
    sweep()
    [transfer] = connect.transfers.values()
    transfer["reversed"] = True
    sweep(later(11))
    assert (state(payout), payout.failure) == ("failed", "Stripe has reversed the transfer.")
    assert balance(hana) == 90 * UNIT
    assert_sound(later(11))


def test_stripe_is_down_for_a_day(connect: Connect, payout: Payout) -> None:
    connect.broken = True
    for hours in range(24):
        sweep(later(60 * hours))
    assert state(payout) == "sent"
    connect.broken = False
    sweep(later(60 * 25))
    assert state(payout) == "paid"
    assert connect.sent_cents == 9000


@pytest.mark.parametrize("reason", ["balance_insufficient", "account_invalid"])
def test_what_stripe_refuses_comes_back(connect: Connect, payout: Payout, hana: User, reason: str) -> None:
    connect.refuse = reason
    sweep()
    assert (state(payout), payout.failure) == ("failed", f"Refused: {reason}")
    assert balance(hana) == 90 * UNIT
    assert_sound(NOW)
    connect.refuse = ""
    again = ask(hana)
    sweep()
    assert (state(again), connect.sent_cents) == ("paid", 9000)
    assert_sound(NOW)


def test_a_key_in_use_is_no_refusal(connect: Connect, payout: Payout) -> None:
    connect.busy_keys = True
    sweep()
    assert state(payout) == "sent"
    connect.busy_keys = False
    sweep(later(11))
    assert (state(payout), connect.sent_cents) == ("paid", 9000)


def test_without_a_key_it_waits(payout: Payout) -> None:
    sweep()
    assert state(payout) == "sent"
    assert_sound(NOW)


def test_frozen_in_between(connect: Connect, payout: Payout, hana: User) -> None:
    freeze_payouts(owner_id=hana.pk, reason="papers")
    sweep()
    assert (state(payout), connect.calls) == ("pending", [])


def test_a_bank_payout_is_not_stripes(connect: Connect, hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    send_payout(payout_id=payout.pk)
    assert (state(payout), connect.calls) == ("pending", [])


def test_a_transfer_that_stripe_takes_back(connect: Connect, payout: Payout, hana: User) -> None:
    sweep()
    assert check_transfer(payout_id=payout.pk) is False
    [transfer] = connect.transfers.values()
    transfer["reversed"] = True
    assert check_transfer(payout_id=payout.pk) is True
    assert check_transfer(payout_id=payout.pk) is False
    assert (state(payout), balance(hana)) == ("failed", 90 * UNIT)
    assert_sound(NOW)
