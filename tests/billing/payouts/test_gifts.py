"""Credit and coupons pay renters: no way of passing them on or of renting from oneself makes cash of them."""

from datetime import timedelta

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Membership, Team, User
from accounts.teams.services import create_team, remove_member
from billing.debts.services import collect_debts
from billing.errors import NotPayable, NotTransferable
from billing.ledger.promotional_selectors import remaining_gifts
from billing.models import AccountLink, Posting
from billing.payouts.payable_balance import PayableBalance
from billing.payouts.selectors import due_owners
from billing.people.account_links import record_card
from billing.people.self_rental import payable_money_of
from billing.transfers.services import transfer_money
from common import clock
from tests.billing.coupon_money import Run, redeem
from tests.billing.money import UNIT, assert_sound, grant, make_user, pay_in, wallet
from tests.billing.payouts.world import NOW, account, ask, days_ago, earn, payable, take_back, top_up
from tests.instances.fake_host import refused

pytestmark = pytest.mark.django_db


def team_of(*users: User) -> Team:
    team = create_team(user=users[0], name="Lab")
    for user in users[1:]:
        Membership.objects.create(team=team, user=user, email=user.email, joined_at=clock.now())
    return team


def run_an_hour(payer: User, payee: User, units: int) -> None:
    """On coupons first; 45 days ago."""
    begin = days_ago(45)
    with time_machine.travel(begin, tick=False):
        run = Run(payer, payee, rate=units * UNIT)
        run.hold()
        run.open(begin)
    run.prove(begin + timedelta(hours=1))
    with time_machine.travel(begin + timedelta(hours=1), tick=False):
        run.close()


@pytest.mark.parametrize("source", ["coupon", "credit", "cash"])
def test_renting_from_oneself_pays_nothing_out(hana: User, source: str) -> None:
    """The audit's way: a coupon of 20, two hours on the own GPU, 18 to be paid out a month later."""
    with time_machine.travel(days_ago(46), tick=False):
        if source == "coupon":
            redeem(hana, 20)
        elif source == "credit":
            grant(hana, 20 * UNIT)
        else:
            pay_in(hana, 20 * UNIT)
    run_an_hour(hana, hana, 20)
    account(hana)
    assert payable(hana) == PayableBalance("USD", balance_micros=18 * UNIT, unpaid_micros=18 * UNIT)
    with pytest.raises(NotPayable), refused():
        ask(hana)
    assert due_owners(now=NOW) == []
    assert payable_money_of(payer_id=hana.pk, owner_id=hana.pk) == "nothing"
    assert_sound(NOW)


def test_what_others_paid_is_paid_out_beside_it(hana: User, alice: User) -> None:
    """Of 90.00 from others and 18.00 of one's own, both younger than the reserve's span: a tenth of the 90.00 stays."""
    earn(hana, 100, ago=20, renter=alice)
    earn(hana, 20, ago=2, renter=hana)
    assert (payable(hana).waiting_micros, payable(hana).reserve_micros) == (0, 9 * UNIT)
    assert payable(hana).payable_micros == 81 * UNIT


def test_of_a_teammate_cash_is_paid_and_no_gift(hana: User, alice: User) -> None:
    team_of(hana, alice)
    with time_machine.travel(days_ago(46), tick=False):
        redeem(alice, 20)
        pay_in(alice, 30 * UNIT)
    run_an_hour(alice, hana, 50)
    assert (payable(hana).unpaid_micros, payable(hana).payable_micros) == (20 * UNIT, 25 * UNIT)
    assert payable_money_of(payer_id=alice.pk, owner_id=hana.pk) == "cash"


def test_leaving_the_team_after_the_run_changes_nothing(hana: User, alice: User) -> None:
    team = team_of(hana, alice)
    with time_machine.travel(days_ago(46), tick=False):
        redeem(alice, 20)
    run_an_hour(alice, hana, 20)
    place = Membership.objects.get(team=team, user=alice)
    remove_member(user=alice, team_id=team.pk, member_id=place.pk)
    assert payable(hana).payable_micros == 0


def test_joining_it_before_the_payout_is_seen(hana: User, alice: User) -> None:
    with time_machine.travel(days_ago(46), tick=False):
        grant(alice, 20 * UNIT)
    run_an_hour(alice, hana, 20)
    assert payable(hana).payable_micros == 18 * UNIT
    team_of(hana, alice)
    assert payable(hana).payable_micros == 0


def test_the_same_card_is_the_same_person(hana: User, alice: User) -> None:
    with time_machine.travel(days_ago(46), tick=False):
        pay_in(alice, 20 * UNIT)
    run_an_hour(alice, hana, 20)
    for user in (hana, alice):
        record_card(owner_id=user.pk, fingerprint="fp_shared")
    assert payable(hana).payable_micros == 0


def run_with_gift(payer: User, payee: User) -> None:
    with time_machine.travel(days_ago(46), tick=False):
        redeem(payer, 20)
    run_an_hour(payer, payee, 20)


def one_card(*users: User) -> None:
    for user in users:
        record_card(owner_id=user.pk, fingerprint="fp_shared")


def test_a_second_account_of_a_teammate_is_the_teammate(hana: User, alice: User, bob: User) -> None:
    """Bob is alice again: same card, no team. Alice is in hana's."""
    one_card(alice, bob)
    team_of(hana, alice)
    run_with_gift(bob, hana)
    assert (payable(hana).unpaid_micros, payable(hana).payable_micros) == (18 * UNIT, 0)
    assert payable_money_of(payer_id=bob.pk, owner_id=hana.pk) == "cash"


@pytest.mark.parametrize("which", ["host", "renter"])
def test_leaving_the_team_changes_nothing_for_second_accounts(hana: User, alice: User, bob: User, which: str) -> None:
    """Bob is hana again, or alice again; the run is with bob, and the team is of hana and alice."""
    one_card(hana if which == "host" else alice, bob)
    team = team_of(hana, alice)
    payer, payee = (alice, bob) if which == "host" else (bob, hana)
    run_with_gift(payer, payee)
    place = Membership.objects.get(team=team, user=alice)
    remove_member(user=alice, team_id=team.pk, member_id=place.pk)
    assert payable(payee).payable_micros == 0


def test_renting_from_a_second_account_of_ones_own_ties_nobody_to_a_team(hana: User, alice: User, bob: User) -> None:
    one_card(hana, bob)
    team_of(hana, alice)
    run_with_gift(bob, hana)
    assert not AccountLink.objects.filter(kind="team").exists()


def test_gifts_do_not_repay_a_debt_by_way_of_the_own_host(hana: User, alice: User) -> None:
    """18 of a coupon lie in the earnings; a disputed payment that another host got is not repaid with them."""
    run_with_gift(hana, hana)
    other = make_user("host")
    payment = top_up(hana, 18, at=days_ago(40))
    earn(other, 18, ago=35, renter=hana, granted=False)
    take_back(payment, at=days_ago(1))
    with time_machine.travel(NOW, tick=False):
        collect_debts()
    assert (wallet(hana, "host").balance_micros, wallet(hana, "debt").balance_micros) == (18 * UNIT, -18 * UNIT)
    assert payable(other).payable_micros == 0


# -- passing on


def test_credit_stays_with_whom_it_was_given_to(alice: User, bob: User) -> None:
    team = team_of(alice, bob)
    grant(alice, 20 * UNIT)
    pay_in(alice, 10 * UNIT)
    with pytest.raises(NotTransferable, match=r"at most 10\.00"), refused():
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=10 * UNIT + 1)
    transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=10 * UNIT)
    with pytest.raises(NotTransferable), refused():
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=1)
    transfer_money(sender=bob, team_id=team.pk, to_id=alice.pk, amount_micros=10 * UNIT)
    assert Posting.objects.filter(kind="transfer").count() == 2


def test_credit_is_spent_before_cash(alice: User, bob: User, hana: User) -> None:
    team = team_of(alice, bob)
    with time_machine.travel(days_ago(50), tick=False):
        grant(alice, 20 * UNIT)
        pay_in(alice, 10 * UNIT)
    earn(hana, 15, ago=40, renter=alice, granted=False)
    transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=10 * UNIT)
    with pytest.raises(NotTransferable), refused():
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=1)


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([("credit", 20), ("charge", -8)], 12),
        ([("top_up", 50), ("charge", -30), ("credit", 20), ("charge", -5)], 15),
        ([("credit", 20), ("charge", -20), ("refund", 15)], 15),  # what was a gift is one again
        ([("top_up", 20), ("charge", -20), ("refund", 15)], 0),
        ([("top_up", 20), ("prepaid", -20), ("prepaid", 12)], 0),
        ([("credit", 20), ("prepaid", -10), ("prepaid", 4)], 14),
        ([("credit", 20), ("coupon", 10), ("charge", -10)], 20),  # the coupon paid, not the credit
        ([("coupon", 10), ("coupon", -10), ("top_up", 5)], 0),
        ([("credit", 20), ("top_up", 5), ("dispute", -22)], 3),
    ],
)
def test_what_is_left_of_gifts_by_hand(entries: list[tuple[str, int]], left: int) -> None:
    assert remaining_gifts(entries) == left


KINDS = st.sampled_from(["credit", "top_up", "charge", "refund", "transfer", "prepaid"])


@given(st.lists(st.tuples(KINDS, st.integers(-30, 30))))
def test_gifts_left_are_at_most_what_was_given_and_what_is_there(moves: list[tuple[str, int]]) -> None:
    entries, balance, given_in_all = [], 0, 0
    for kind, micros in moves:
        amount = abs(micros) if kind in ("credit", "top_up", "refund") else -abs(micros) if kind == "charge" else micros
        if balance + amount >= 0:
            entries.append((kind, amount))
            balance += amount
            given_in_all += amount if kind == "credit" else 0
    assert 0 <= remaining_gifts(entries) <= min(balance, given_in_all)
