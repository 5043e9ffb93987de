"""Money is held before it is spent, and given back after."""

import uuid

import pytest

from accounts.models import User
from billing.errors import InsufficientFunds
from billing.metering.holds import hold_funds, release_hold
from billing.models import Hold
from common.errors import InvalidInput
from tests.billing.money import START, UNIT, Source, assert_sound, at, charged, grant, wallet

pytestmark = pytest.mark.django_db


def test_holding_takes_from_what_can_be_spent_not_from_the_balance(alice: User, hana: User) -> None:
    grant(alice, 10 * UNIT)
    Source(alice, hana).hold(4 * UNIT)
    held = wallet(alice)
    assert (held.balance_micros, held.held_micros, held.spendable_micros) == (10 * UNIT, 4 * UNIT, 6 * UNIT)
    assert_sound()


def test_too_little_money_says_how_much_is_needed(alice: User, hana: User) -> None:
    grant(alice, UNIT)
    with pytest.raises(InsufficientFunds) as caught:
        Source(alice, hana).hold(UNIT + 1)
    error = caught.value
    assert (error.status, error.code) == (402, "insufficient_funds")
    assert error.extra == {"needed": "1.000001", "spendable": "1.00"}
    assert not Hold.objects.exists()


def test_what_one_source_holds_is_not_there_for_another(alice: User, hana: User) -> None:
    grant(alice, 10 * UNIT)
    Source(alice, hana).hold(6 * UNIT)
    with pytest.raises(InsufficientFunds) as caught:
        Source(alice, hana).hold(4 * UNIT + 1)
    assert caught.value.extra == {"needed": "4.000001", "spendable": "4.00"}
    Source(alice, hana).hold(4 * UNIT)
    assert_sound()


def test_who_has_no_wallet_can_hold_nothing_but_nothing(alice: User, hana: User) -> None:
    with pytest.raises(InsufficientFunds):
        Source(alice, hana).hold(1)
    Source(alice, hana).hold(0)
    with pytest.raises(InvalidInput):
        hold_funds(owner_id=alice.pk, amount_micros=-1, source_kind="instance", source_id=uuid.uuid4())


def test_holding_again_for_the_same_source_only_adds_what_is_missing(alice: User, hana: User) -> None:
    grant(alice, 10 * UNIT)
    source = Source(alice, hana)
    for amount in (2, 2, 1, 3):
        source.hold(amount * UNIT)
    assert wallet(alice).held_micros == 3 * UNIT
    assert source.open_hold is not None
    assert source.open_hold.amount_micros == 3 * UNIT
    assert_sound()


def test_releasing_gives_all_back_once(alice: User, hana: User) -> None:
    grant(alice, 10 * UNIT)
    source = Source(alice, hana)
    source.hold(4 * UNIT)
    for _ in range(2):
        release_hold(source_kind="instance", source_id=source.key)
    assert wallet(alice).spendable_micros == 10 * UNIT
    assert source.open_hold is None
    source.hold(5 * UNIT)  # a later start holds anew
    assert wallet(alice).held_micros == 5 * UNIT
    assert_sound()


def test_releasing_first_charges_what_was_proven(alice: User, hana: User) -> None:
    grant(alice, 10 * UNIT)
    source = Source(alice, hana).start()
    source.prove(at(seconds=100))
    release_hold(source_kind="instance", source_id=source.key)
    assert charged(source.key) == 85_000
    assert wallet(alice).balance_micros == wallet(alice).spendable_micros == 10 * UNIT - 85_000
    assert source.meter.closed_at is not None
    assert source.meter.opened_at == START
    assert_sound()
