"""How much can be paid out: by hand, at the edges of the holding period, and never above the balance."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from billing.payouts.payable_balance import PayableBalance
from billing.payouts.selectors import due_owners
from tests.billing.money import UNIT, assert_sound
from tests.billing.payouts.world import (
    NOW,
    account,
    ask,
    balance,
    days_ago,
    disputed_after_use,
    earn,
    payable,
    take_back,
    top_up,
)

amounts = st.integers(-(10**12), 10**12)


@given(amounts, amounts, amounts, st.integers(0, 10**12))
def test_never_above_the_balance_and_never_negative(balance: int, young: int, recent: int, disputed: int) -> None:
    found = PayableBalance("USD", balance, young, recent, disputed)
    assert 0 <= found.payable_micros <= max(0, balance)
    assert found.payable_micros % 10_000 == 0
    assert found.payable_micros <= max(0, balance - max(0, young) - max(0, recent) / 10 - disputed)


@pytest.mark.parametrize(
    ("recent", "reserve"), [(0, 0), (1, 1), (10, 1), (11, 2), (19, 2), (20, 2), (270_000_001, 27_000_001), (-5, 0)]
)
def test_the_reserve_is_rounded_up(recent: int, reserve: int) -> None:
    """A tenth of what was earned lately, and a started micro-unit counts as a whole one."""
    assert PayableBalance("USD", recent_micros=recent).reserve_micros == reserve


@pytest.mark.django_db
def test_the_example_of_the_docs(hana: User) -> None:
    earn(hana, 400, ago=40)  # 360.00, older than the reserve's span
    earn(hana, 200, ago=20)  # 180.00, matured
    earn(hana, 100, ago=2)  # 90.00, not matured
    found = payable(hana)
    assert found.balance_micros == 630 * UNIT
    assert found.waiting_micros == 90 * UNIT
    assert found.reserve_micros == 27 * UNIT  # a tenth of 180.00 + 90.00
    assert found.payable_micros == 513 * UNIT
    assert_sound(NOW)


@pytest.mark.django_db
def test_a_week_to_the_microsecond(hana: User) -> None:
    earn(hana, 100, ago=7)
    assert payable(hana).waiting_micros == 0
    assert payable(hana, NOW - timedelta(microseconds=1)).waiting_micros == 90 * UNIT


@pytest.mark.django_db
def test_who_has_earned_nothing(alice: User) -> None:
    assert payable(alice) == PayableBalance("USD")


@pytest.mark.django_db
def test_what_is_under_way_has_left_the_balance(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    ask(hana, 60 * UNIT)
    found = payable(hana)
    assert (found.balance_micros, found.under_way_micros) == (30 * UNIT, 60 * UNIT)
    assert found.payable_micros == 30 * UNIT  # nothing was earned lately, so there is no reserve
    assert balance(hana) == 30 * UNIT


@pytest.mark.django_db
def test_what_renters_owe_is_kept_and_nothing_of_others(hana: User, alice: User, bob: User) -> None:
    """By the ledger: disputes of 200 and 50, all of it spent here and 300 of Bob's own money after it."""
    earn(hana, 100, ago=60, renter=alice)  # before the payment
    payments = [top_up(alice, 200, at=days_ago(50)), top_up(bob, 50, at=days_ago(50))]
    earn(hana, 200, ago=46, renter=alice, granted=False)
    earn(hana, 50, ago=46, renter=bob, granted=False)
    earn(hana, 300, ago=45, renter=bob)
    for payment in payments:
        take_back(payment, at=days_ago(44))
    assert payable(hana).disputed_micros == 180 * UNIT + 45 * UNIT
    assert payable(hana).payable_micros == (90 + 270) * UNIT


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "kept"), [("open", 180), ("lost", 180), ("won", 0)])
def test_the_bank_s_word_frees_nothing_while_the_debt_stands(hana: User, alice: User, state: str, kept: int) -> None:
    disputed_after_use(alice, hana, 200, state=state)
    assert payable(hana).disputed_micros == kept * UNIT


@pytest.mark.django_db
def test_whose_turn_it_is(hana: User, alice: User, bob: User) -> None:
    for owner in (hana, alice, bob):
        earn(owner, 100, ago=40)
    account(hana)
    account(alice, automatic=False)
    account(bob, frozen=True)
    assert due_owners(now=NOW) == [hana.pk]


@pytest.mark.django_db
@pytest.mark.parametrize(("minimum", "due"), [(90, True), (91, False)])
def test_less_than_the_minimum_waits(hana: User, minimum: int, due: bool) -> None:
    earn(hana, 100, ago=40)
    account(hana, minimum_micros=minimum * UNIT)
    assert (due_owners(now=NOW) == [hana.pk]) is due
