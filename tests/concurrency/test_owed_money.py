"""A dispute against a transfer of its money, an order on it and a payout of it: whoever is first, none of it is lost."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import time_machine

from accounts.models import Membership, Team, User
from accounts.teams.services import create_team
from billing.coupons.codes import redeem_code
from billing.debts.services import collect_debts
from billing.errors import NotPayable, NotTransferable, OwesMoney
from billing.ledger.trace_selectors import owed_money
from billing.metering import holds
from billing.models import Payout, Wallet
from billing.payouts.payouts import request_payout
from billing.transfers.services import transfer_money
from common import clock
from tests.billing.coupon_money import Run, make_code
from tests.billing.money import UNIT, Source, assert_sound, in_parallel, make_user, wallet
from tests.billing.payouts.world import NOW, account, balance, days_ago, earn, payable, take_back, top_up
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 6


@pytest.fixture(autouse=True)
def the_clock_stands() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def lab(*users: User) -> Team:
    team = create_team(user=users[0], name="Lab")
    for user in users[1:]:
        Membership.objects.create(team=team, user=user, email=user.email, joined_at=clock.now())
    return team


def where_it_lies(debtor: User) -> int:
    """What is owed and was followed to wallets and hosts."""
    return sum(debts.get(debtor.pk, 0) for debts in owed_money().places.values())


def test_a_transfer_against_the_dispute_of_its_money() -> None:
    outcomes = set()
    for _ in range(ROUNDS):
        ann, ben = make_user("ann"), make_user("ben")
        team, payment = lab(ann, ben), top_up(ann, 100, at=days_ago(10))
        move = partial(transfer_money, sender=ann, team_id=team.pk, to_id=ben.pk, amount_micros=60 * UNIT)
        moved, _taken = in_parallel([move, partial(take_back, payment, at=NOW)])
        owes = -sum(Wallet.objects.filter(owner=ann, kind="debt").values_list("balance_micros", flat=True))
        assert where_it_lies(ann) == owes
        if isinstance(moved, Exception):
            assert owes == 0
        else:
            assert owes == 60 * UNIT
            collect_debts()
            assert wallet(ben).spendable_micros == 0
        outcomes.add(type(moved).__name__)
    assert_sound(NOW)
    assert outcomes <= {"Transfer", NotTransferable.__name__, "InsufficientFunds"}


def test_a_second_hand_against_the_dispute() -> None:
    """Ben passes on what he got while it is taken back from Ann: it is found where it is."""
    for _ in range(ROUNDS):
        ann, ben, carl = make_user("ann"), make_user("ben"), make_user("carl")
        team, payment = lab(ann, ben, carl), top_up(ann, 100, at=days_ago(10))
        transfer_money(sender=ann, team_id=team.pk, to_id=ben.pk, amount_micros=100 * UNIT)
        move = partial(transfer_money, sender=ben, team_id=team.pk, to_id=carl.pk, amount_micros=70 * UNIT)
        in_parallel([move, partial(take_back, payment, at=NOW), collect_debts])
        collect_debts()
        assert where_it_lies(ann) == 100 * UNIT
        assert sum(wallet(user).spendable_micros for user in (ben, carl)) == 0
    assert_sound(NOW)


def test_a_payout_against_the_dispute() -> None:
    """Either it was paid out before the bank took the money back, or none of it is."""
    outcomes = set()
    for _ in range(ROUNDS):
        ann, host = make_user("ann"), make_user("host")
        payment = top_up(ann, 100, at=days_ago(50))
        earn(host, 100, ago=45, renter=ann, granted=False)
        account(host, iban=f"{host.pk.hex[-20:]}", bank="a bank")
        works: list[Any] = [
            partial(request_payout, owner_id=host.pk, requested_by="test"), partial(take_back, payment, at=NOW),
        ]  # fmt: skip
        paid, _taken = in_parallel(works)
        assert isinstance(paid, Payout | NotPayable)
        assert (balance(host), payable(host).payable_micros) == (0 if isinstance(paid, Payout) else 90 * UNIT, 0)
        outcomes.add(type(paid).__name__)
    assert_sound(NOW)
    assert outcomes <= {"Payout", "NotPayable"}


def test_after_the_dispute_no_payout_of_it_ever() -> None:
    ann, host = make_user("ann"), make_user("host")
    payment = top_up(ann, 100, at=days_ago(50))
    earn(host, 100, ago=45, renter=ann, granted=False)
    account(host)
    take_back(payment, at=days_ago(1))
    works: list[Any] = [partial(request_payout, owner_id=host.pk, requested_by="test")] * 8
    assert all(isinstance(each, NotPayable) for each in in_parallel(works))
    assert not Payout.objects.exists()


def order_on_coupons(ann: User, host: User) -> Any:
    """An order that coupons alone would pay, so that only the debt can refuse it."""
    redeem_code(owner_id=ann.pk, code=make_code(f"C-{ann.pk.hex[-10:]}", 50))
    return Run(ann, host).hold


def test_an_order_against_the_dispute() -> None:
    for _ in range(ROUNDS):
        ann, host = make_user("ann"), make_user("host")
        payment = top_up(ann, 100, at=days_ago(50))
        earn(host, 100, ago=45, renter=ann, granted=False)
        held, _taken = in_parallel([order_on_coupons(ann, host), partial(take_back, payment, at=NOW)])
        assert held is None or isinstance(held, OwesMoney)
        with pytest.raises(OwesMoney):
            Run(ann, host).hold()


def test_its_pair_without_the_question_an_order_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "check_owes_nothing", lambda _owner_id: None)
    ann, host = make_user("ann"), make_user("host")
    payment = top_up(ann, 100, at=days_ago(50))
    earn(host, 100, ago=45, renter=ann, granted=False)
    hold = order_on_coupons(ann, host)
    take_back(payment, at=NOW)
    assert hold() is None


def test_freezing_against_an_order_without_locks_meets_the_check_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read that the money is free; the database lets one of them have it."""
    take_locks_down(monkeypatch)
    ann, ben, host = make_user("ann"), make_user("ben"), make_user("host")
    team, payment = lab(ann, ben), top_up(ann, 100, at=days_ago(10))
    transfer_money(sender=ann, team_id=team.pk, to_id=ben.pk, amount_micros=100 * UNIT)
    take_back(payment, at=NOW)
    in_parallel([collect_debts, *[Source(ben, host, rate=60 * UNIT).hold] * 2])
    assert wallet(ben).spendable_micros >= 0
