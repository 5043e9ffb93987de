"""Money for seven, a hundred parallel holds: seven get it. Each wall is shown to matter by taking it down."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models import QuerySet

from accounts.models import User
from billing.errors import InsufficientFunds
from billing.models import Hold
from tests.billing.money import UNIT, Source, assert_sound, execute_as_owner, grant, wallet
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

ORDERS = 100
FUNDED = 7
AT_ONCE = 50  # PostgreSQL's default is 100 connections


@pytest.fixture
def orders(alice: User, hana: User) -> list[Source]:
    grant(alice, FUNDED * UNIT + UNIT // 2)
    return [Source(alice, hana, rate=UNIT) for _ in range(ORDERS)]


@pytest.fixture
def lock_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first wall taken down: nobody locks the wallet's row, and all who read it read before anybody writes."""
    everybody = Barrier(AT_ONCE)

    def unlocked(rows: QuerySet[Any], **options: object) -> QuerySet[Any]:
        if rows.model is Hold:  # asked for after the wallet was read, before it is written
            with suppress(BrokenBarrierError):
                everybody.wait(timeout=20)
        return rows

    take_locks_down(monkeypatch, unlocked)


@pytest.fixture
def check_down() -> Iterator[None]:
    """The second wall taken down: the table's own CHECK."""
    name = "wallet_never_overspent"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name])
        (definition,) = cursor.fetchone()
    execute_as_owner(f"ALTER TABLE billing_wallet DROP CONSTRAINT {name}")
    yield
    execute_as_owner("TRUNCATE billing_wallet CASCADE")
    execute_as_owner(f"ALTER TABLE billing_wallet ADD CONSTRAINT {name} {definition}")


def rush(orders: list[Source]) -> list[Exception | None]:
    barrier = Barrier(AT_ONCE)

    def order(source: Source) -> Exception | None:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=60)
            source.hold()
        except (InsufficientFunds, IntegrityError) as error:
            return error
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(order, orders))


def test_exactly_seven_of_a_hundred_parallel_holds_succeed(orders: list[Source]) -> None:
    outcomes = rush(orders)
    assert sum(outcome is None for outcome in outcomes) == FUNDED
    assert all(outcome is None or isinstance(outcome, InsufficientFunds) for outcome in outcomes)
    assert wallet(orders[0].payer).held_micros == FUNDED * UNIT
    assert Hold.objects.count() == FUNDED
    assert_sound()


@pytest.mark.usefixtures("lock_down")
def test_without_the_row_lock_the_check_still_refuses_the_eighth(orders: list[Source]) -> None:
    outcomes = rush(orders)
    assert sum(outcome is None for outcome in outcomes) == FUNDED
    refusals = [outcome for outcome in outcomes if isinstance(outcome, IntegrityError)]
    assert len(refusals) > 0
    assert all(re.search("wallet_never_overspent", str(refusal)) for refusal in refusals)
    assert_sound()


@pytest.mark.usefixtures("lock_down", "check_down")
def test_without_both_walls_the_same_money_is_held_many_times(orders: list[Source]) -> None:
    succeeded = sum(outcome is None for outcome in rush(orders))
    assert succeeded > FUNDED
    overspent = wallet(orders[0].payer)
    assert overspent.held_micros == succeeded * UNIT
    assert overspent.spendable_micros < 0
