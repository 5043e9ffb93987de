"""An owner rents the own GPU with a stolen card (fault 92): flagged where it can be seen, late enough where it cannot."""

from datetime import timedelta

import pytest

from accounts.models import User
from billing.constants import PAYOUT_HOLDING
from billing.errors import NotPayable
from billing.people.account_links import record_card
from billing.people.related_accounts import related_accounts
from common.db.transactions import use_case
from tests.billing.money import UNIT, assert_sound, make_user
from tests.billing.payouts.world import NOW, account, ask, days_ago, earn, payable, take_back, top_up
from tests.instances.fake_host import refused

pytestmark = pytest.mark.django_db


def rents_own(owner: User, thief: User, *, ago: float) -> None:
    """A hundred by card, all of it used on the owner's host a little later."""
    top_up(thief, 100, at=days_ago(ago + 1))
    earn(owner, 100, ago=ago, renter=thief, granted=False)


def test_fault_092_nothing_is_paid_before_the_bank_can_have_spoken(hana: User) -> None:
    account(hana)
    rents_own(hana, make_user("thief"), ago=1)
    assert payable(hana).payable_micros == 0
    with refused(), pytest.raises(NotPayable):
        ask(hana, UNIT)
    assert timedelta(days=7) <= PAYOUT_HOLDING, "a bank hears of a stolen card within days"


def test_fault_092_what_the_bank_takes_back_is_never_paid_out(hana: User) -> None:
    account(hana)
    thief = make_user("thief")
    payment = top_up(thief, 100, at=days_ago(3))
    earn(hana, 100, ago=2, renter=thief, granted=False)
    take_back(payment, at=NOW)
    for later in (timedelta(0), PAYOUT_HOLDING, timedelta(days=120)):
        assert payable(hana, NOW + later).payable_micros == 0, later
    take_back(payment, at=NOW + timedelta(days=1), state="lost")
    assert payable(hana, NOW + timedelta(days=120)).payable_micros == 0
    assert_sound()


@pytest.mark.parametrize("first", ["owner", "thief"])
def test_fault_092_the_same_card_on_both_accounts_is_a_flag(hana: User, first: str) -> None:
    """Then nothing of it is ever paid, whether or not the bank takes it back."""
    account(hana)
    thief = make_user("thief")
    for user in (hana, thief) if first == "owner" else (thief, hana):
        with use_case():
            record_card(owner_id=user.pk, fingerprint="fp_stolen")
    rents_own(hana, thief, ago=40)
    assert thief.pk in related_accounts(hana.pk)
    found = payable(hana, NOW + timedelta(days=120))
    assert found.unpaid_micros == 90 * UNIT
    assert found.payable_micros == 0


def test_the_protection_matters(hana: User) -> None:
    """Control: of an unrelated renter with a good card the same is paid, once it is old enough."""
    account(hana)
    rents_own(hana, make_user("renter"), ago=40)
    assert payable(hana).payable_micros > 0
