"""Payouts killed at every statement, asked for and sent by many at once, and against a refund: one transfer, or none."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection

from accounts.models import User
from billing.metering.host_fault_credits import credit_source
from billing.models import Payout, Posting
from billing.payouts.bank_export import export_batch
from billing.payouts.payouts import mark_failed, request_payout, start_due_payouts
from billing.payouts.transfers import send_payout, send_payouts
from common.db.transactions import use_case
from common.errors import DomainError
from tests.billing.money import UNIT, assert_sound, in_parallel, make_user, wallet
from tests.billing.payouts.conftest import connect as connect_fixture
from tests.billing.payouts.connect import Connect
from tests.billing.payouts.world import NOW, account, ask, balance, earn
from tests.lock_waits import wait_until_one_waits_for_us

pytestmark = pytest.mark.django_db(transaction=True)

connect = connect_fixture
AT_ONCE = 8


class Killed(BaseException):
    """The process dies here: nothing catches it."""


class Killer:
    """Lets so many statements through, and kills at the next."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if self.left == 0:
            raise Killed
        self.left -= 1
        return execute(sql, params, many, context)


def is_killed(work: Callable[[], object], after: int) -> bool:
    try:
        with connection.execute_wrapper(Killer(after)):
            work()
    except Killed:
        return True
    return False


def rich_owner(method: str = "stripe") -> User:
    owner = make_user("host")
    earn(owner, 100, ago=40)
    account(owner, method)
    return owner


@pytest.fixture(autouse=True)
def the_clock_stands() -> Any:
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


def test_fault_080_killed_at_every_statement_of_the_sending(connect: Connect, the_clock_stands: Any) -> None:
    after, owners = 0, []
    while True:
        owner = rich_owner()
        owners.append(owner)
        payout = ask(owner)
        if not is_killed(lambda payout=payout: send_payout(payout_id=payout.pk), after):  # type: ignore[misc]
            break
        after += 1
    assert after > 5
    connect.forget_keys()  # whoever comes to it comes a day later
    end = NOW + timedelta(days=2)
    the_clock_stands.move_to(end)
    send_payouts(now=end)
    assert {payout.state for payout in Payout.objects.all()} == {"paid"}
    groups = [transfer["transfer_group"] for transfer in connect.transfers.values()]
    assert sorted(groups) == sorted(f"payout_{payout.pk.hex}" for payout in Payout.objects.all())
    assert all(balance(owner) == 0 for owner in owners)
    assert_sound(end)


def test_killed_at_every_statement_of_a_failure(connect: Connect, the_clock_stands: Any) -> None:
    connect.refuse = "account_invalid"
    after, owners = 0, []
    while True:
        owner = rich_owner()
        owners.append(owner)
        payout = ask(owner)
        if not is_killed(lambda payout=payout: send_payout(payout_id=payout.pk), after):  # type: ignore[misc]
            break
        after += 1
    assert after > 15
    the_clock_stands.move_to(NOW + timedelta(hours=1))
    send_payouts(now=NOW + timedelta(hours=1))
    assert {payout.state for payout in Payout.objects.all()} == {"failed"}
    assert connect.transfers == {}
    assert all(balance(owner) == 90 * UNIT for owner in owners)
    assert_sound(NOW + timedelta(hours=1))


def test_killed_at_every_statement_of_the_opening() -> None:
    after = 0
    while True:
        owner = rich_owner("bank")
        if not is_killed(lambda owner=owner: ask(owner), after):  # type: ignore[misc]
            break
        assert balance(owner) == 90 * UNIT
        assert not Payout.objects.filter(owner=owner).exists()
        after += 1
    assert after > 10
    assert balance(owner) == 0
    assert_sound(NOW)


def test_asked_for_by_many_at_once() -> None:
    owner = rich_owner("bank")
    asks: list[Callable[[], object]] = [lambda: request_payout(owner_id=owner.pk, requested_by="test")] * AT_ONCE
    outcomes = in_parallel([*asks, *[lambda: start_due_payouts(now=NOW)] * AT_ONCE])
    payout = Payout.objects.get()
    assert payout.amount_micros == 90 * UNIT
    assert all(isinstance(each, Payout | DomainError | int) for each in outcomes), outcomes
    assert Posting.objects.filter(kind="payout").count() == 1
    assert balance(owner) == 0
    assert_sound(NOW)


def test_fault_080_sent_by_many_at_once(connect: Connect) -> None:
    payout = ask(rich_owner())
    outcomes = in_parallel([lambda: send_payout(payout_id=payout.pk)] * AT_ONCE)
    assert outcomes == [None] * AT_ONCE
    payout.refresh_from_db()
    assert (payout.state, len(connect.transfers)) == ("paid", 1)
    assert connect.calls == ["POST /v1/transfers"]
    assert_sound(NOW)


def test_asked_about_again_by_many_at_once(connect: Connect, the_clock_stands: Any) -> None:
    payout = ask(rich_owner())
    connect.lose_replies = 2
    send_payout(payout_id=payout.pk)
    later = NOW + timedelta(hours=1)
    the_clock_stands.move_to(later)
    in_parallel([lambda: send_payouts(now=later)] * AT_ONCE)
    payout.refresh_from_db()
    assert (payout.state, len(connect.transfers)) == ("paid", 1)
    assert connect.calls.count("GET /v1/transfers") == 1
    assert_sound(later)


def test_exported_by_many_at_once() -> None:
    payouts = [ask(rich_owner("bank")) for _ in range(6)]
    batches = in_parallel([lambda: export_batch(actor="staff")] * AT_ONCE)
    for payout in payouts:
        payout.refresh_from_db()
        assert payout.state == "sent"
        assert payout.batch in batches
    assert_sound(NOW)


def test_taken_back_by_many_at_once() -> None:
    owner = rich_owner("bank")
    payout = ask(owner)
    takes = [lambda: mark_failed(payout_id=payout.pk, actor="x", failure="x", from_states=("pending",))] * AT_ONCE
    assert sorted(map(bool, in_parallel(list(takes)))) == [False] * (AT_ONCE - 1) + [True]
    assert balance(owner) == 90 * UNIT
    assert_sound(NOW)


def give_back(source: Any) -> int:
    """Inside the caller's transaction."""
    end = NOW - timedelta(days=40)
    return credit_source(
        source_kind="disk",
        source_id=source,
        key=str(source),
        since=end - timedelta(hours=1),
        until=end,
        reason="host fault",
        actor="staff",
    )


def give_back_apart(source: Any) -> int:
    with use_case():
        return give_back(source)


def test_a_payout_that_comes_while_a_refund_is_written_sees_it() -> None:
    owner = make_user("host")
    source = earn(owner, 100, ago=40)
    earn(owner, 50, ago=40)
    account(owner)
    with ThreadPoolExecutor(1) as pool:
        with use_case():
            assert give_back(source) == 100 * UNIT
            requested = pool.submit(ask_apart, owner)
            wait_until_one_waits_for_us()
        assert requested.result(timeout=30) == 45 * UNIT
    assert balance(owner) == 0
    assert_sound(NOW)


def ask_apart(owner: User) -> int:
    try:
        return ask(owner).amount_micros
    finally:
        connection.close()


@pytest.mark.parametrize("attempt", range(6))
def test_a_payout_against_a_refund(attempt: int) -> None:
    owner = make_user("host")
    source = earn(owner, 100, ago=40)
    earn(owner, 50, ago=40)
    account(owner)
    works: list[Callable[[], object]] = [lambda: ask(owner), lambda: give_back_apart(source)]
    outcomes = in_parallel(works if attempt % 2 else works[::-1])
    assert 100 * UNIT in outcomes
    payout = Payout.objects.get()
    assert payout.amount_micros in (135 * UNIT, 45 * UNIT)  # before the refund, or after it
    assert wallet(owner, "host").balance_micros == (135 - 90) * UNIT - payout.amount_micros
    assert_sound(NOW)
