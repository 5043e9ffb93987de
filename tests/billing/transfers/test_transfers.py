"""Money between members of a team: both statements, whose money, what cannot be passed on."""

import uuid

import pytest

from accounts.models import Membership, Team, User
from accounts.teams.services import create_team
from billing.calendar_months import month_span
from billing.errors import InsufficientFunds, NotTransferable
from billing.models import Posting, Wallet
from billing.statements.selectors import statement_lines
from billing.transfers.selectors import team_spending
from billing.transfers.services import transfer_money
from common import clock
from common.errors import InvalidInput, NotFound
from tests.billing.coupon_money import RATE, Run, redeem
from tests.billing.money import UNIT, Source, assert_sound, at, pay_in, settle, wallet
from tests.instances.fake_host import refused


@pytest.fixture
def team(alice: User, bob: User) -> Team:
    found = create_team(user=alice, name="Lab")
    Membership.objects.create(team=found, user=bob, email=bob.email, joined_at=clock.now())
    pay_in(alice, 10 * UNIT)
    return found


def test_a_transfer_is_a_line_on_both_statements(team: Team, alice: User, bob: User) -> None:
    done = transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=4 * UNIT, memo="for the run")
    assert done.what == "alice@example.com → bob@example.com, Lab: for the run"
    sent, got = (statement_lines(owner_id=user.pk)[0] for user in (alice, bob))
    assert [(line.kind, line.amount_micros, line.balance_after_micros) for line in (sent, got)] == [
        ("transfer", -4 * UNIT, 6 * UNIT),
        ("transfer", 4 * UNIT, 4 * UNIT),
    ]
    assert_sound()


def test_the_same_key_again_moves_nothing(team: Team, alice: User, bob: User) -> None:
    key = uuid.uuid4()
    first, again = (
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=UNIT, key=key) for _ in range(2)
    )
    assert first.id == again.id
    assert (wallet(alice).balance_micros, Posting.objects.filter(kind="transfer").count()) == (9 * UNIT, 1)


def test_only_what_can_be_spent(team: Team, alice: User, bob: User, hana: User) -> None:
    Source(alice, hana, rate=3 * UNIT).hold()
    with pytest.raises(InsufficientFunds), refused():
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=7 * UNIT + 1)
    transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=7 * UNIT)
    assert wallet(alice).spendable_micros == 0


def test_coupon_money_is_never_passed_on(team: Team, alice: User, bob: User, hana: User) -> None:
    """20.00 of a coupon and 10.00 of cash: neither lying ready nor set aside for an hour does a coupon become cash."""
    redeem(alice, 20)
    run = Run(alice, hana)
    for _ in range(2):
        with pytest.raises(InsufficientFunds), refused():
            transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=10 * UNIT + 1)
        run.hold()
    transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=10 * UNIT)
    assert (wallet(alice).spendable_micros, wallet(alice, "coupon").balance_micros) == (0, 20 * UNIT - RATE)


def test_who_owes_pays_that_first(team: Team, alice: User, bob: User) -> None:
    Wallet.objects.create(owner=alice, kind="debt", balance_micros=-UNIT)
    with pytest.raises(NotTransferable), refused():
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=UNIT)


@pytest.mark.parametrize("amount", [0, -1])
def test_nothing_and_less_are_no_amounts(team: Team, alice: User, bob: User, amount: int) -> None:
    with pytest.raises(InvalidInput):
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=amount)


def test_only_inside_the_team(team: Team, alice: User, mallory: User) -> None:
    pay_in(mallory, 10 * UNIT)
    for sender, to in ((alice, mallory), (mallory, alice)):
        with pytest.raises(NotFound), refused():
            transfer_money(sender=sender, team_id=team.pk, to_id=to.pk, amount_micros=UNIT)
    with pytest.raises(NotTransferable):
        transfer_money(sender=alice, team_id=team.pk, to_id=alice.pk, amount_micros=UNIT)


def test_owners_see_what_each_spends_and_members_their_own(team: Team, alice: User, bob: User, hana: User) -> None:
    transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=4 * UNIT)
    source = Source(bob, hana, rate=2 * UNIT).start()
    source.run(at(), at(minutes=30))
    source.close()
    settle(at(hours=1))
    posting = Posting.objects.filter(kind="usage").get()
    since, until = month_span(f"{posting.created_at:%Y-%m}")

    def seen(viewer: User) -> list[tuple[str, int]]:
        return [(row.member.email, row.micros) for row in team_spending(viewer, team.pk, since=since, until=until)]

    assert seen(alice) == [(alice.email, 0), (bob.email, UNIT)]
    assert seen(bob) == [(bob.email, UNIT)]
