"""Fault 77: what runs on money that a bank took back stops, with its data kept, in whoever's wallet; the rest goes on."""

from datetime import timedelta

import pytest

from accounts.models import Membership, User
from accounts.teams.services import create_team
from billing.audit.selectors import all_findings
from billing.debts.services import collect_debts
from billing.models import Payment
from billing.transfers.services import transfer_money
from common import clock
from instances.enforcement.disputes import stop_disputed
from tests.billing.money import UNIT, make_user, wallet
from tests.billing.payouts.world import take_back, top_up
from tests.instances.fake_host import FakeHost, order, reload
from tests.instances.modes import rented, sell
from tests.instances.spot.bidders import bid, events, seen, turn

pytestmark = pytest.mark.usefixtures("sound")


def disputed(owner: User, state: str) -> None:
    take_back(top_up(owner, 1, at=clock.now()), at=clock.now(), state=state)


def test_only_the_spot_rents_of_who_is_in_dispute_stop(spot: FakeHost, rin: User, bo: User) -> None:
    mine, others = bid(rin, spot, 2.00), bid(bo, spot, 2.00)
    waiting = bid(rin, spot, 0.60, gpus=4)
    hourly = order(rin, spot)
    spot.settle()
    disputed(bo, "won")
    assert stop_disputed(now=clock.now()) == 0
    disputed(rin, "open")
    assert stop_disputed(now=clock.now()) == 2
    turn(spot)
    assert (seen(mine), seen(waiting)) == (("stopped", "ended", None), ("stopped", "ended", None))
    assert "payment_disputed" in events(mine)
    assert (reload(others).state, reload(hourly).state) == ("running", "running")
    assert stop_disputed(now=clock.now()) == 0


def passed_on(units: int) -> tuple[Payment, User]:
    """Somebody pays so much by card and hands it to a friend in their team."""
    payer, friend = make_user("payer"), make_user("friend")
    team = create_team(user=payer, name="Lab")
    Membership.objects.create(team=team, user=friend, email=friend.email, joined_at=clock.now())
    payment = top_up(payer, units, at=clock.now() - timedelta(days=1))
    transfer_money(sender=payer, team_id=team.pk, to_id=friend.pk, amount_micros=units * UNIT)
    return payment, friend


def test_what_a_friend_runs_on_it_stops_too(spot: FakeHost, rin: User) -> None:
    payment, friend = passed_on(8)
    bids, hourly = bid(friend, spot, 2.00), order(friend, spot)
    others = order(rin, spot)
    spot.settle()
    take_back(payment, at=clock.now())
    collect_debts()
    assert wallet(friend).spendable_micros == 0
    assert stop_disputed(now=clock.now()) == 2
    turn(spot)
    assert (reload(bids).state, reload(hourly).state, reload(others).state) == ("stopped", "stopped", "running")
    assert "payment_disputed" in events(hourly)
    collect_debts()
    assert (wallet(friend).spendable_micros, stop_disputed(now=clock.now())) == (0, 0)


def test_what_a_friend_pays_with_money_of_their_own_goes_on(spot: FakeHost, rin: User) -> None:
    payment, friend = passed_on(8)
    hourly = order(friend, spot)
    spot.settle()
    top_up(friend, 20, at=clock.now())
    take_back(payment, at=clock.now())
    collect_debts()
    assert stop_disputed(now=clock.now()) == 0
    assert (reload(hourly).state, wallet(friend).spendable_micros) == ("running", 20 * UNIT - 3_600_000)
    assert all_findings() == [], "the audit knows what is frozen"


def test_what_was_prepaid_with_it_ends_early(spot: FakeHost) -> None:
    sell(spot)
    payment, friend = passed_on(100)
    instance = rented(friend, spot, "reserved", term="day", payment="upfront")  # 82.08
    spot.settle()
    take_back(payment, at=clock.now())
    collect_debts()
    assert stop_disputed(now=clock.now()) == 1
    turn(spot)
    assert (reload(instance).state, instance.terms.get().state) == ("stopped", "exited")
    collect_debts()
    assert wallet(friend).spendable_micros == 0
    assert stop_disputed(now=clock.now()) == 0
