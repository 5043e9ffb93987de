"""Budgets: what they count, when they tell, what hard ones refuse and stop, and that they let by no more than one hour."""

from datetime import timedelta
from uuid import UUID

import pytest
import time_machine

from accounts.models import Membership, Team, User
from accounts.teams.services import create_team
from billing.budgets.selectors import budget_views, highest_notices_of
from billing.budgets.services import change_budget, remove_budget
from billing.errors import BudgetExceeded, BudgetExists, InsufficientFunds
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Budget, Hold, Notice
from billing.standing.mail import queue_notices
from common import clock
from common.errors import Forbidden, InvalidInput, NotFound
from instances.enforcement import sweeps
from instances.enforcement.budgets import enforce_budgets, set_budget
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from tests.billing.money import START, UNIT, assert_sound, at, grant, wallet
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock
from tests.mails import sent


def budget(
    owner: User,
    limit: float,
    *,
    scope: str = "member",
    subject: UUID | None = None,
    hard: bool = True,
    period: str = "month",
) -> Budget:
    return set_budget(
        owner=owner,
        scope=scope,
        subject_id=subject,
        period=period,
        limit_micros=round(limit * UNIT),
        hard=hard,
    )


def run_for(host: FakeHost, clock_of: Clock, /, **span: float) -> None:
    """All sweeps, every 100 seconds."""
    end = clock.now() + timedelta(**span)
    while clock.now() < end:
        clock_of.advance(seconds=min(100.0, (end - clock.now()).total_seconds()))
        host.sync()
        extend_holds(now=clock.now())
        sweeps.stop_exhausted(now=clock.now())
        enforce_budgets(now=clock.now())
        host.settle()
    settle_meters(now=clock.now())


def spent(one: Budget) -> int:
    (view,) = budget_views([Budget.objects.get(pk=one.pk)], now=clock.now())
    return view.use.spent_micros


# -- hard


def test_a_hard_budget_refuses_the_order_that_would_pass_it(rin: User, host: FakeHost) -> None:
    budget(rin, 3.59)
    with pytest.raises(BudgetExceeded) as caught, refused():
        order(rin, host)
    assert (caught.value.code, caught.value.status) == ("budget_exceeded", 402)
    assert caught.value.extra == {"needed": "3.60", "left": "3.59", "limit": "3.59"}
    assert not Hold.objects.exists() and not Instance.objects.exists()


def test_an_order_that_fits_to_the_micro_is_taken_and_the_next_is_not(rin: User, host: FakeHost) -> None:
    budget(rin, 3.60)
    order(rin, host)
    with pytest.raises(BudgetExceeded), refused():
        order(rin, host)


def test_what_a_hard_budget_covers_stops_before_its_limit_is_passed(rin: User, host: FakeHost, hours: Clock) -> None:
    """10.00 pay for two hours of 3.60 and no third: 7.20 are spent, not a micro-unit more."""
    limit = budget(rin, 10)
    instance = order_running(rin, host)
    run_for(host, hours, hours=2)
    requested = reload(instance).stop_requested_at
    assert requested is not None and at(hours=2) <= requested < at(hours=2, seconds=100)
    run_for(host, hours, minutes=10)
    assert reload(instance).state == "stopped"
    assert spent(limit) == 7_200_000 == 1000 * UNIT - wallet(rin).balance_micros
    event = InstanceEvent.objects.get(instance=instance, kind="budget_reached")
    assert "doesn't cover another hour" in event.detail
    assert Notice.objects.filter(kind="budget", facts__percent=100, person=rin).count() == 1
    with pytest.raises(BudgetExceeded), refused():
        start_instance(renter=rin, instance_id=instance.pk)
    assert_sound()


def test_a_limit_that_is_raised_lets_it_run_on(rin: User, host: FakeHost, hours: Clock) -> None:
    limit = budget(rin, 3.60)
    instance = order_running(rin, host)
    run_for(host, hours, minutes=59)
    change_budget(owner_id=rin.pk, budget_id=limit.pk, limit_micros=20 * UNIT)
    run_for(host, hours, minutes=30)
    assert reload(instance).state == "running"


def test_one_that_is_removed_stops_nothing(rin: User, host: FakeHost, hours: Clock) -> None:
    limit = budget(rin, 3.60)
    instance = order_running(rin, host)
    remove_budget(owner_id=rin.pk, budget_id=limit.pk)
    run_for(host, hours, hours=1, minutes=5)
    assert reload(instance).state == "running"


def test_a_budget_of_one_instance_stops_that_one_alone(rin: User, host: FakeHost, hours: Clock) -> None:
    one, other = order_running(rin, host), order_running(rin, host)
    budget(rin, 5, scope="instance", subject=one.pk, period="total")
    run_for(host, hours, hours=1, minutes=5)
    assert (reload(one).state, reload(other).state) == ("stopped", "running")


def test_two_wallets_of_a_team_do_not_both_take_the_last_hour(alice: User, bob: User, host: FakeHost, hours: Clock) -> None:
    """10.80 are three hours: both begin, one goes on for a second hour, then there is nothing left for either."""
    team = team_of_two(alice, bob)
    for renter in (alice, bob):
        grant(renter, 100 * UNIT)
    limit = budget(alice, 10.80, scope="team", subject=team.pk)
    instances = [order_running(renter, host) for renter in (alice, bob)]
    run_for(host, hours, hours=3)
    assert sorted(reload(instance).stop_requested_at for instance in instances) == [at(hours=1), at(hours=2)]  # type: ignore[type-var]
    assert spent(limit) == 10_800_000
    assert_sound()


def team_of_two(owner: User, member: User) -> Team:
    team = create_team(user=owner, name="Lab")
    Membership.objects.create(team=team, user=member, email=member.email, joined_at=clock.now())
    return team


def test_after_an_outage_of_the_sweeps_no_more_than_the_hold_was_let_by(rin: User, host: FakeHost, hours: Clock) -> None:
    """Nothing runs for 50 minutes past the hold's end: what nobody has set aside is not charged."""
    limit = budget(rin, 4)
    instance = order_running(rin, host)
    for _ in range(110):
        hours.advance(minutes=1)
        host.sync()
    enforce_budgets(now=clock.now())
    host.settle()
    assert reload(instance).state == "stopped"
    assert spent(limit) == 3_600_000


def test_a_wallet_that_cannot_pay_is_told_so_and_not_of_a_budget(alice: User, host: FakeHost) -> None:
    budget(alice, 100)
    with pytest.raises(InsufficientFunds) as caught, refused():
        order(alice, host)
    assert caught.value.code == "insufficient_funds"


# -- soft, and telling


def test_marks_are_told_once_each_and_nothing_is_stopped(rin: User, host: FakeHost, hours: Clock) -> None:
    """7.20 are two hours of 3.60: half after one, 80 % after 1 h 36 min, all after two."""
    budget(rin, 7.20, hard=False)
    instance = order_running(rin, host)
    messages = []
    for minutes in (59, 2, 34, 2, 22, 2, 60):
        run_for(host, hours, minutes=minutes)
        messages.append([mark.facts["percent"] for mark in highest_notices_of(person_id=rin.pk, now=clock.now())])
    assert messages == [[], [50], [50], [80], [80], [100], [100]]
    assert (queue_notices(now=clock.now()), queue_notices(now=clock.now())) == (3, 0)
    assert sorted(message.subject for message in sent()) == [f"Budget Alice: {mark}% spent" for mark in (100, 50, 80)]
    assert reload(instance).state == "running"


def test_mail_about_a_limit_that_was_changed_is_taken_back(rin: User, host: FakeHost, hours: Clock) -> None:
    mine = budget(rin, 7.20, hard=False)
    order_running(rin, host)
    run_for(host, hours, minutes=61)
    assert queue_notices(now=clock.now()) == 1
    change_budget(owner_id=rin.pk, budget_id=mine.pk, limit_micros=100 * UNIT)
    assert (sent("Budget"), queue_notices(now=clock.now())) == ([], 0)


def test_a_new_month_begins_at_nothing_and_tells_anew(rin: User, host: FakeHost, hours: Clock) -> None:
    """One hour before the end of March and the next one in April."""
    with time_machine.travel(START.replace(day=31, hour=22, minute=30), tick=False) as traveller:
        april = Clock(traveller)
        month, total = budget(rin, 5, hard=False), budget(rin, 5, hard=False, period="total")
        order_running(rin, host)
        run_for(host, april, hours=1, minutes=1)
        assert (spent(month), spent(total)) == (3_660_000, 3_660_000)
        assert {mark.facts["percent"] for mark in highest_notices_of(person_id=rin.pk, now=clock.now())} == {50}
        run_for(host, april, hours=1)
        assert spent(total) == 2 * 3_600_000 + 60_000
        assert spent(month) == 3_600_000 + 60_000, "an hour counts in the month in which it is charged"
        assert highest_notices_of(person_id=rin.pk, now=clock.now())


def test_a_member_and_the_owner_are_both_told(alice: User, bob: User, host: FakeHost, hours: Clock) -> None:
    team_of_two(alice, bob)
    grant(bob, 100 * UNIT)
    limit = budget(alice, 4, subject=bob.pk, hard=False)
    assert limit.name == "Bob"
    order_running(bob, host)
    run_for(host, hours, minutes=40)
    assert set(Notice.objects.values_list("person", flat=True)) == {alice.pk, bob.pk}


def test_a_budget_over_others_ends_with_its_owners_place_in_the_team(alice: User, bob: User, host: FakeHost) -> None:
    team = team_of_two(alice, bob)
    grant(bob, 100 * UNIT)
    budget(alice, 1, subject=bob.pk)
    with pytest.raises(BudgetExceeded), refused():
        order(bob, host)
    Membership.objects.filter(team=team, user=alice).update(role="member")
    order(bob, host)


# -- whose


def test_over_what_one_may_set_a_budget(alice: User, bob: User, rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    team = team_of_two(alice, bob)
    for owner, scope, subject in (
        (bob, "instance", instance.pk),
        (bob, "member", alice.pk),
        (alice, "member", host.owner.pk),
    ):
        with pytest.raises(NotFound):
            budget(owner, 5, scope=scope, subject=subject)
    with pytest.raises(Forbidden):
        budget(bob, 5, scope="team", subject=team.pk)
    with pytest.raises(InvalidInput):
        budget(alice, 0)
    budget(alice, 5)
    with pytest.raises(BudgetExists), refused():
        budget(alice, 6)
    with pytest.raises(NotFound):
        remove_budget(owner_id=bob.pk, budget_id=Budget.objects.get().pk)


def test_what_came_back_is_taken_off(rin: User, host: FakeHost, hours: Clock) -> None:
    limit = budget(rin, 100, hard=False)
    instance = order_running(rin, host)
    run_for(host, hours, minutes=30)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert spent(limit) == 1_800_000
