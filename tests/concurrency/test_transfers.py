"""Races for a team's money and its owners, each paired with the lock taken down."""

from collections import Counter
from functools import partial
from threading import Barrier

import pytest
from django.db import IntegrityError

from accounts.errors import LastOwner
from accounts.models import Membership, Team, User
from accounts.teams import services
from billing.errors import InsufficientFunds
from billing.transfers.services import transfer_money
from common import clock
from tests.billing.money import UNIT, assert_sound, in_parallel, pay_in, wallet
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 12


@pytest.fixture
def team(alice: User, bob: User) -> Team:
    found = services.create_team(user=alice, name="Lab")
    Membership.objects.create(team=found, user=bob, email=bob.email, role="owner", joined_at=clock.now())
    return found


def race(team: Team, alice: User, bob: User) -> Counter[str]:
    """Money for five; twelve want to pass it on at once."""
    pay_in(alice, 5 * UNIT + UNIT // 2)
    works = [partial(transfer_money, sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=UNIT)] * AT_ONCE
    return Counter(type(result).__name__ for result in in_parallel(list(works)))


def test_money_for_five_is_passed_on_five_times(team: Team, alice: User, bob: User) -> None:
    assert race(team, alice, bob) == {"Transfer": 5, "InsufficientFunds": AT_ONCE - 5}
    assert (wallet(alice).balance_micros, wallet(bob).balance_micros) == (UNIT // 2, 5 * UNIT)
    assert_sound()


def test_its_pair_without_the_lock_meets_the_check_of_the_table(
    team: Team, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody has read that there is enough; the database says no to the sixth."""
    take_locks_down(monkeypatch)
    results = race(team, alice, bob)
    assert results["Transfer"] <= 5
    assert results["IntegrityError"] + results["InsufficientFunds"] == AT_ONCE - results["Transfer"]
    assert wallet(alice).balance_micros >= 0
    assert_sound()


def test_to_and_fro_at_once_no_deadlock(team: Team, alice: User, bob: User) -> None:
    for user in (alice, bob):
        pay_in(user, 100 * UNIT)
    works = [
        partial(transfer_money, sender=sender, team_id=team.pk, to_id=to.pk, amount_micros=UNIT)
        for sender, to in ((alice, bob), (bob, alice)) * (AT_ONCE // 2)
    ]
    results = in_parallel(list(works))
    assert not [result for result in results if isinstance(result, IntegrityError | InsufficientFunds | Exception)]
    assert wallet(alice).balance_micros == wallet(bob).balance_micros == 100 * UNIT


def leave_together(team: Team, alice: User, bob: User) -> Counter[str]:
    places = {user.pk: Membership.objects.get(team=team, user=user).pk for user in (alice, bob)}
    works = [partial(services.remove_member, user=user, team_id=team.pk, member_id=places[user.pk]) for user in (alice, bob)]
    return Counter(type(result).__name__ for result in in_parallel(list(works)))


def test_of_two_owners_that_leave_together_one_stays(team: Team, alice: User, bob: User) -> None:
    for _ in range(5):
        assert leave_together(team, alice, bob) == {"NoneType": 1, LastOwner.__name__: 1}
        (left,) = Membership.objects.filter(team=team)
        gone = bob if left.user_id == alice.pk else alice
        Membership.objects.create(team=team, user=gone, email=gone.email, role="owner", joined_at=clock.now())


def test_its_pair_without_the_teams_lock_both_go(
    team: Team, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has read that the other stays."""
    both, check = Barrier(2), services._check_not_last

    def together(member: Membership) -> None:
        check(member)
        both.wait(timeout=30)

    take_locks_down(monkeypatch)
    monkeypatch.setattr(services, "_check_not_last", together)
    assert leave_together(team, alice, bob) == {"NoneType": 2}
    assert not Membership.objects.filter(team=team).exists()
