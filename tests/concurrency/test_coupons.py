"""Seven coupons for forty, one for each person, one draw for each micro-unit; each wall shown by taking it down."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models import QuerySet

from accounts.models import User
from billing.constants import COUPON_TRIES
from billing.coupons.codes import redeem_code
from billing.errors import CouponGone, CouponRedeemed
from billing.ledger.wallets import open_wallet
from billing.models import Coupon, CouponCode
from common.errors import DomainError
from tests.billing.coupon_money import UNIT, Run, assert_whole, make_code, micros, redeem
from tests.billing.money import execute_as_owner, grant, make_user
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

LIMIT = 7
CROWD = 20


def all_at_once(works: list[Callable[[], object]]) -> list[Exception | None]:
    barrier = Barrier(len(works))

    def run(work: Callable[[], object]) -> Exception | None:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=60)
            work()
        except (DomainError, IntegrityError) as error:
            return error
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def redeeming(user: User, code: str) -> Callable[[], object]:
    return lambda: redeem_code(owner_id=user.pk, code=code)


def open_wallets(user: User) -> None:
    """Else the first transaction's new wallet would keep the others waiting."""
    open_wallet(owner_id=user.pk)
    open_wallet(owner_id=user.pk, kind="coupon")
    open_wallet(owner_id=None, kind="gifts")


@pytest.fixture
def crowd(db: None) -> list[User]:
    return [make_user(f"person{number}") for number in range(CROWD)]


@pytest.fixture
def lock_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first wall taken down: no row is locked, and all who read the code's row read it before anybody writes."""
    everybody = Barrier(CROWD)

    def unlocked(rows: QuerySet[Any], **options: object) -> QuerySet[Any]:
        if rows.model is CouponCode:
            try:
                everybody.wait(timeout=10)
            except BrokenBarrierError:
                everybody.reset()
        return rows

    take_locks_down(monkeypatch, unlocked)


@pytest.fixture
def walls_down() -> Iterator[None]:
    """The second walls taken down: the tables' own constraints."""
    constraints = {
        "coupon_code_within_limit": "billing_couponcode",
        "one_coupon_per_code_owner_and_number": "billing_coupon",
    }
    kept = {}
    for name, table in constraints.items():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name])
            kept[name] = cursor.fetchone()[0]
        execute_as_owner(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    yield
    execute_as_owner("TRUNCATE billing_couponcode CASCADE")
    for name, table in constraints.items():
        execute_as_owner(f"ALTER TABLE {table} ADD CONSTRAINT {name} {kept[name]}")


def test_as_many_are_redeemed_as_were_given_out(crowd: list[User]) -> None:
    make_code("SEVEN", 1, total_limit=LIMIT)
    outcomes = all_at_once([redeeming(user, "SEVEN") for user in crowd])
    assert sum(outcome is None for outcome in outcomes) == LIMIT
    assert sum(isinstance(outcome, CouponGone) for outcome in outcomes) == CROWD - LIMIT
    assert CouponCode.objects.get().redeemed == LIMIT
    assert_whole()


@pytest.mark.usefixtures("lock_down")
def test_without_the_lock_the_constraint_still_holds_the_total(crowd: list[User]) -> None:
    make_code("SEVEN", 1, total_limit=LIMIT)
    outcomes = all_at_once([redeeming(user, "SEVEN") for user in crowd])
    assert sum(outcome is None for outcome in outcomes) <= LIMIT
    assert any(isinstance(outcome, IntegrityError) for outcome in outcomes)
    assert Coupon.objects.count() <= LIMIT


@pytest.mark.usefixtures("lock_down", "walls_down")
def test_without_both_too_many_are_redeemed(crowd: list[User]) -> None:
    """The control: the race is real."""
    make_code("SEVEN", 1, total_limit=LIMIT)
    outcomes = all_at_once([redeeming(user, "SEVEN") for user in crowd])
    assert sum(outcome is None for outcome in outcomes) > LIMIT


def test_one_person_redeems_once(alice: User) -> None:
    make_code("ONCE", 1)
    outcomes = all_at_once([redeeming(alice, "ONCE")] * COUPON_TRIES)
    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, CouponRedeemed) for outcome in outcomes) == COUPON_TRIES - 1
    assert micros(alice, "coupon") == UNIT
    assert_whole()


@pytest.mark.usefixtures("lock_down")
def test_without_the_lock_the_constraint_still_holds_each_person(alice: User) -> None:
    open_wallets(alice)
    make_code("ONCE", 1)
    outcomes = all_at_once([redeeming(alice, "ONCE")] * CROWD)
    assert sum(outcome is None for outcome in outcomes) == 1
    assert any(isinstance(outcome, IntegrityError) for outcome in outcomes)


@pytest.mark.usefixtures("lock_down", "walls_down")
def test_without_both_one_person_redeems_often(alice: User) -> None:
    open_wallets(alice)
    make_code("ONCE", 1)
    outcomes = all_at_once([redeeming(alice, "ONCE")] * CROWD)
    assert sum(outcome is None for outcome in outcomes) > 1


def test_a_coupon_is_drawn_once_however_many_hold_at_once(alice: User, hana: User) -> None:
    """10.00 of coupon and 26.00 of cash: ten holds of 3.60, and no more."""
    grant(alice, 26 * UNIT)
    coupon = redeem(alice, 10)
    runs = [Run(alice, hana) for _ in range(CROWD)]
    outcomes = all_at_once([run.hold for run in runs])
    assert sum(outcome is None for outcome in outcomes) == 10
    coupon.refresh_from_db()
    assert coupon.remaining_micros == 0
    assert sum(draw.drawn_micros for draw in coupon.draws.all()) == 10 * UNIT
    assert micros(alice, "renter") == 36 * UNIT
    all_at_once([run.close for run, outcome in zip(runs, outcomes, strict=True) if outcome is None])
    coupon.refresh_from_db()
    assert (coupon.remaining_micros, micros(alice, "renter")) == (10 * UNIT, 26 * UNIT)
    assert_whole()
