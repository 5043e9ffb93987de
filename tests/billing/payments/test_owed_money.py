"""Money that a bank took back is kept wherever it went, until its debtor has repaid it; by Stripe's own messages."""

from datetime import timedelta

import pytest
import time_machine

from accounts.models import Membership, Team, User
from accounts.teams.services import create_team
from billing.debts.services import collect_debts, unfrozen_money
from billing.errors import NotPayable, NotTransferable, OwesMoney
from billing.metering.host_fault_credits import credit_source
from billing.models import Hold, Payment, PayoutAccount
from billing.payouts.payable_balance import PayableBalance
from billing.payouts.payouts import request_payout
from billing.payouts.selectors import payable_of
from billing.transfers.services import transfer_money
from common import clock
from common.db.transactions import use_case
from tests.billing.money import START, UNIT, Source, assert_sound, at, make_user, wallet
from tests.billing.payments.conftest import Market, balance
from tests.billing.payouts.world import IBAN
from tests.instances.fake_host import refused

pytestmark = pytest.mark.django_db

LATER = timedelta(days=60)


@pytest.fixture
def team(alice: User, bob: User, mallory: User) -> Team:
    found = create_team(user=alice, name="Lab")
    for user in (bob, mallory):
        Membership.objects.create(team=found, user=user, email=user.email, joined_at=clock.now())
    return found


def third(team: Team) -> User:
    return Membership.objects.get(team=team, user__email="mallory@example.com").user  # type: ignore[return-value]  # joined


def pass_on(team: Team, sender: User, to: User, units: int) -> None:
    transfer_money(sender=sender, team_id=team.pk, to_id=to.pk, amount_micros=units * UNIT)


def use(payer: User, payee: User, units: int) -> Source:
    """One hour at so much, paid and ended."""
    source = Source(payer, payee, rate=units * UNIT).start()
    source.run(START, at(hours=1))
    source.close()
    return source


def dispute(market: Market, payment: Payment, units: int | None = None) -> str:
    made = market.stripe.dispute(str(payment.intent_id), units and units * 100)
    market.deliver_all()
    return str(made["id"])


def close(market: Market, name: str, verdict: str) -> None:
    market.stripe.close_dispute(name, verdict)
    market.deliver_all()


def payable(owner: User) -> PayableBalance:
    """Long after everything has matured."""
    return payable_of(owner_id=owner.pk, now=clock.now() + LATER)


def ask(owner: User) -> int:
    with time_machine.travel(clock.now() + LATER, tick=False):
        return request_payout_of(owner)


def test_through_a_team_to_a_friends_host(market: Market, team: Team, alice: User, bob: User, hana: User) -> None:
    """The audit's way out: 100 by card, passed on, spent at the friend's host, and taken back by the bank."""
    payment = market.paid(alice, 100)
    pass_on(team, alice, bob, 100)
    use(bob, hana, 89)
    name = dispute(market, payment)
    assert balance(alice, "debt") == -100 * UNIT
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (80_100_000, 0)
    with pytest.raises(NotPayable), refused():
        ask(hana)
    close(market, name, "lost")
    assert payable(hana).payable_micros == 0
    with pytest.raises(NotPayable), refused():
        ask(hana)
    market.paid(alice, 100)  # now it is repaid
    assert (balance(alice, "debt"), payable(hana).disputed_micros) == (0, 0)
    assert ask(hana) == 80_100_000


def test_a_won_case_ends_it(market: Market, team: Team, alice: User, bob: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    pass_on(team, alice, bob, 60)
    use(bob, hana, 50)
    name = dispute(market, payment)
    collect_debts()
    assert (payable(hana).payable_micros, wallet(bob).spendable_micros) == (0, 0)
    close(market, name, "won")
    collect_debts()
    assert (payable(hana).payable_micros, wallet(bob).spendable_micros) == (45 * UNIT, 10 * UNIT)


def test_round_in_a_circle_and_through_three_hands(market: Market, team: Team, alice: User, bob: User, hana: User) -> None:
    payment, mallory = market.paid(alice, 100), third(team)
    for _ in range(3):
        pass_on(team, alice, bob, 100)
        pass_on(team, bob, mallory, 100)
        pass_on(team, mallory, alice, 100)
    pass_on(team, alice, bob, 70)
    pass_on(team, bob, mallory, 70)
    use(mallory, hana, 70)
    dispute(market, payment)
    assert (balance(alice, "debt"), payable(hana).disputed_micros) == (-70 * UNIT, 63 * UNIT)


def test_only_what_came_of_it_is_kept(market: Market, team: Team, alice: User, bob: User, hana: User) -> None:
    """Bob's own 200 pay for what the 30 that were passed on to him did not."""
    market.paid(bob, 200)
    payment = market.paid(alice, 100)
    use(bob, hana, 40)  # before the money came
    pass_on(team, alice, bob, 30)
    other = make_user("host")
    use(bob, other, 100)
    dispute(market, payment)
    assert (payable(hana).disputed_micros, payable(other).disputed_micros) == (0, 30 * UNIT)
    assert payable(other).payable_micros == 60 * UNIT


def test_a_part_that_is_disputed_after_a_part_was_refunded(market: Market, alice: User, hana: User) -> None:
    """100 paid, 60 used, 40 back to the card: of the 60 the bank takes 50."""
    payment = market.paid(alice, 100)
    use(alice, hana, 60)
    market.stripe.refund_by_hand(str(payment.intent_id), 4000)
    market.deliver_all()
    assert payable(hana).payable_micros == 54 * UNIT
    dispute(market, payment, 50)
    assert (balance(alice), balance(alice, "debt")) == (0, -50 * UNIT)
    assert payable(hana).disputed_micros == 50 * UNIT


def test_a_debt_that_is_repaid_in_part_keeps_only_the_rest(market: Market, alice: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    use(alice, hana, 100)
    dispute(market, payment)
    market.paid(alice, 70)
    assert payable(hana).disputed_micros == 30 * UNIT


def test_what_repaid_a_debt_and_is_taken_back_itself_counts_for_nothing(market: Market, alice: User, hana: User) -> None:
    """Two stolen cards: the second one repays what the first one's bank took back, and is disputed too."""
    first = market.paid(alice, 100)
    use(alice, hana, 100)
    dispute(market, first)
    second = market.paid(alice, 100)
    assert payable(hana).disputed_micros == 0
    dispute(market, second)
    assert (balance(alice, "debt"), payable(hana).disputed_micros) == (-100 * UNIT, 90 * UNIT)


def test_what_repays_a_debt_frees_a_host_when_it_has_matured(market: Market, alice: User, hana: User) -> None:
    """A second stolen card frees nothing at once: what it repaid counts for the first host like what it would have paid."""
    first = market.paid(alice, 100)
    use(alice, hana, 100)
    close(market, dispute(market, first), "lost")
    begin = clock.now()
    with time_machine.travel(begin + timedelta(days=20)):
        second = market.paid(alice, 100)
        collect_debts()
        assert (balance(alice, "debt"), balance(alice)) == (0, 0)
        assert payable_of(owner_id=hana.pk, now=clock.now()).disputed_micros == 90 * UNIT
        with pytest.raises(NotPayable), refused():
            request_payout_of(hana)
    with time_machine.travel(begin + timedelta(days=26)):
        dispute(market, second)
        assert payable_of(owner_id=hana.pk, now=clock.now()).payable_micros == 0
    with time_machine.travel(begin + timedelta(days=30)):
        market.paid(alice, 100)
        assert payable_of(owner_id=hana.pk, now=clock.now() + timedelta(days=6)).payable_micros == 0
        assert payable_of(owner_id=hana.pk, now=clock.now() + timedelta(days=7, seconds=1)).disputed_micros == 0


def test_so_does_what_a_team_mate_passes_on(market: Market, team: Team, alice: User, bob: User, hana: User) -> None:
    first = market.paid(alice, 100)
    market.paid(bob, 60)
    use(alice, hana, 100)
    dispute(market, first)
    with time_machine.travel(clock.now() + timedelta(days=20)):
        pass_on(team, bob, alice, 60)
        assert collect_debts() == 1
        assert balance(alice, "debt") == -40 * UNIT
        assert payable_of(owner_id=hana.pk, now=clock.now()).disputed_micros == 90 * UNIT
        assert payable_of(owner_id=hana.pk, now=clock.now() + timedelta(days=8)).disputed_micros == 40 * UNIT


def request_payout_of(owner: User) -> int:
    PayoutAccount.objects.get_or_create(owner=owner, defaults={"method": "bank", "holder": "Host", "iban": IBAN})
    return request_payout(owner_id=owner.pk, requested_by="test").amount_micros


def test_two_debtors_in_one_wallet_are_not_counted_twice(
    market: Market, team: Team, alice: User, bob: User, hana: User
) -> None:
    mallory = third(team)
    payments = [market.paid(user, 50) for user in (alice, mallory)]
    for user in (alice, mallory):
        pass_on(team, user, bob, 50)
    use(bob, hana, 60)
    for payment in payments:
        dispute(market, payment)
    assert payable(hana).disputed_micros == 54 * UNIT
    collect_debts()
    assert wallet(bob).spendable_micros == 0


def test_what_a_host_gives_back_is_frozen_in_the_wallet(
    market: Market, team: Team, alice: User, bob: User, hana: User
) -> None:
    payment = market.paid(alice, 100)
    pass_on(team, alice, bob, 60)
    source = use(bob, hana, 60)
    dispute(market, payment)
    with use_case():
        credit = credit_source(
            source_kind="instance", source_id=source.key, key="fault", since=START, until=at(hours=2),
            reason="the host failed", actor="test",
        )  # fmt: skip
    assert credit == 60 * UNIT
    assert payable(hana).disputed_micros == 0
    collect_debts()
    assert wallet(bob).spendable_micros == 6 * UNIT  # what the platform had had of it answers for nothing


def test_it_is_frozen_where_it_lies_and_free_when_it_is_repaid(
    market: Market, team: Team, alice: User, bob: User, hana: User
) -> None:
    market.paid(bob, 20)
    payment = market.paid(alice, 100)
    pass_on(team, alice, bob, 60)
    dispute(market, payment)
    assert collect_debts() == 1
    assert wallet(bob).spendable_micros == 20 * UNIT
    assert collect_debts() == 0
    with pytest.raises(Exception, match="You need"), refused():
        Source(bob, hana, rate=21 * UNIT).hold()
    Source(bob, hana, rate=20 * UNIT).hold()
    market.paid(alice, 60)
    assert collect_debts() == 1
    assert wallet(bob).spendable_micros == 60 * UNIT
    assert not Hold.objects.filter(source_kind="frozen", released_at=None).exists()


def test_what_is_set_aside_for_a_run_is_named(market: Market, team: Team, alice: User, bob: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    pass_on(team, alice, bob, 60)
    source = Source(bob, hana, rate=50 * UNIT).start()
    dispute(market, payment)
    collect_debts()
    assert (wallet(bob).spendable_micros, unfrozen_money()) == (0, {bob.pk: 50 * UNIT})
    source.close()
    collect_debts()
    assert (wallet(bob).spendable_micros, unfrozen_money()) == (0, {})


def test_who_owes_orders_nothing_and_passes_nothing_on(
    market: Market, team: Team, alice: User, bob: User, hana: User
) -> None:
    payment = market.paid(alice, 100)
    pass_on(team, alice, bob, 100)
    dispute(market, payment)
    for rate in (0, UNIT):
        with pytest.raises(OwesMoney), refused():
            Source(alice, hana, rate=rate).hold()
    with pytest.raises(NotTransferable), refused():
        pass_on(team, alice, bob, 1)


def test_the_same_card_under_another_account(market: Market, alice: User, bob: User, hana: User) -> None:
    """Alice owes; Bob has paid with the same card: he orders nothing, and earns nothing that is paid out."""
    market.stripe.fingerprint = "fp_one_and_the_same"
    payment = market.paid(alice, 100)
    market.paid(bob, 50)
    use(make_friend(market), bob, 40)
    use(alice, hana, 100)
    assert payable(bob).payable_micros == 36 * UNIT
    dispute(market, payment)
    with pytest.raises(OwesMoney), refused():
        Source(bob, hana, rate=UNIT).hold()
    assert (payable(bob).debt_micros, payable(bob).payable_micros) == (100 * UNIT, 0)


def make_friend(market: Market) -> User:
    market.stripe.fingerprint, kept = "fp_of_somebody_else", market.stripe.fingerprint
    user = make_user("renter")
    market.paid(user, 40)
    market.stripe.fingerprint = kept
    return user


def test_ones_own_debt_is_set_off_against_ones_own_earnings(market: Market, alice: User, bob: User, hana: User) -> None:
    """Alice spends 100 at Hana's, her bank takes it back; her own hosts have earned 36 from Bob."""
    payment = market.paid(alice, 100)
    use(alice, hana, 100)
    market.paid(bob, 40)
    use(bob, alice, 40)
    dispute(market, payment)
    assert (payable(alice).debt_micros, payable(alice).payable_micros) == (100 * UNIT, 0)
    with pytest.raises(NotPayable), refused():
        ask(alice)
    with time_machine.travel(clock.now() + LATER, tick=False):
        collect_debts()
    assert (balance(alice, "host"), balance(alice, "debt")) == (0, -64 * UNIT)
    assert payable(hana).disputed_micros == 64 * UNIT
    assert_sound(clock.now() + LATER)


def test_top_ups_of_the_debtor_and_freed_money_repay(market: Market, alice: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    source = Source(alice, hana, rate=60 * UNIT).start()
    source.run(START, at(minutes=30))
    dispute(market, payment)
    assert unfrozen_money() == {alice.pk: 60 * UNIT}
    source.close()
    collect_debts()
    assert (balance(alice), balance(alice, "debt"), unfrozen_money()) == (0, -30 * UNIT, {})
    assert payable(hana).disputed_micros == 27 * UNIT
