"""Money that was taken back, passed on and spent at random: what is kept of it is what is owed of it."""

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Membership
from accounts.teams.services import create_team
from billing.debts.services import collect_debts
from billing.models import Hold, Wallet
from billing.transfers.services import transfer_money
from common import clock
from tests.billing.money import UNIT, assert_sound, make_user
from tests.billing.payouts.world import NOW, days_ago, earn, payable, take_back, top_up


@pytest.mark.django_db
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 40)), max_size=8))
@settings(max_examples=25)
def test_all_that_is_owed_is_kept_but_for_the_fee(moves: list[tuple[int, int, int]]) -> None:
    """Whoever passes on or spends what: the platform's tenth of what was spent is all that nobody keeps."""
    users, host = [make_user("u") for _ in range(3)], make_user("host")
    lab = create_team(user=users[0], name="Lab")
    for user in users[1:]:
        Membership.objects.create(team=lab, user=user, email=user.email, joined_at=clock.now())
    payment = top_up(users[0], 100, at=days_ago(50))
    spent = 0
    for place, (who, to, units) in enumerate(moves):
        own = Wallet.objects.filter(owner=users[who], kind="renter").values_list("balance_micros", flat=True).first() or 0
        if units * UNIT > own or to == who:
            continue
        if to == 3:
            earn(host, units, ago=45 - place, renter=users[who], granted=False)
            spent += units
        else:
            with time_machine.travel(days_ago(45 - place), tick=False):
                transfer_money(sender=users[who], team_id=lab.pk, to_id=users[to].pk, amount_micros=units * UNIT)
    take_back(payment, at=days_ago(5))
    with time_machine.travel(NOW, tick=False):
        collect_debts()
    owes = -sum(Wallet.objects.filter(owner=users[0], kind="debt").values_list("balance_micros", flat=True))
    holds = Hold.objects.filter(source_kind="frozen", released_at=None, wallet__owner__in=users)
    frozen = sum(holds.values_list("amount_micros", flat=True))
    assert payable(host).disputed_micros == spent * UNIT * 9 // 10
    assert payable(host).disputed_micros + frozen == owes - spent * UNIT // 10
    assert payable(host).payable_micros == 0
    assert_sound(NOW)
