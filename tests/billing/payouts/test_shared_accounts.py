"""Two accounts with one payout account: what is only typed costs whoever typed it later, and never who is paid there."""

import importlib
from itertools import combinations, product
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Team, User
from accounts.teams.services import create_team
from billing.debts.services import check_owes_nothing
from billing.errors import NotTransferable, OwesMoney
from billing.models import AccountLink, ConnectedAccount, Payout
from billing.models.payout_destinations import Destination, parse_destination
from billing.payouts.accounts import save_payout_account
from billing.payouts.bank_export import confirm_payout, return_payout
from billing.payouts.stripe_connect import sync_account
from billing.people.related_accounts import related_accounts
from billing.people.selectors import linked_accounts, person_of
from billing.people.self_rental import payable_money_of
from billing.transfers.services import transfer_money
from common.db.transactions import use_case
from tests.billing.money import UNIT, make_user, triggers_off
from tests.billing.payouts.connect import CONNECTED, Connect
from tests.billing.payouts.test_gifts import run_with_gift, team_of
from tests.billing.payouts.test_http import as_user, confirmed, put
from tests.billing.payouts.world import IBAN, NOW, account, ask, days_ago, disputed_after_use, earn, payable
from tests.instances.fake_host import refused

pytestmark = pytest.mark.django_db

ELSEWHERE = "GB33BUKB20201555555555"


def types(user: User, iban: str = IBAN, bank: str = "", *, ago: float) -> None:
    where = parse_destination(method="bank", holder="Somebody", iban=iban, bank=bank)
    with time_machine.travel(days_ago(ago), tick=False):
        save_payout_account(owner_id=user.pk, destination=where, minimum_micros=UNIT, automatic=False)


def is_paid(user: User) -> Payout:
    """Ten units, to the account that is typed now, and the bank says that they arrived."""
    earn(user, 20, ago=40)
    payout = ask(user, 10 * UNIT)
    confirm_payout(payout_id=payout.pk, actor="staff", reference="SEPA 1")
    payout.refresh_from_db()
    assert payout.state == "paid"
    return payout


def owes(user: User, units: int) -> None:
    disputed_after_use(user, make_user("other-host"), units)


def may_order(user: User) -> bool:
    with use_case():
        try:
            check_owes_nothing(user.pk)
        except OwesMoney:
            return False
    return True


# -- the victim


@pytest.mark.parametrize("first", ["the host", "the attacker"])
@pytest.mark.parametrize("proven", [True, False])
def test_typing_a_hosts_account_costs_the_host_nothing(hana: User, mallory: User, first: str, proven: bool) -> None:
    """The attack: mallory names hana's IBAN, owes 500, and rents from her."""
    types(hana, ago=60 if first == "the host" else 50)
    types(mallory, ago=55)
    if proven:
        is_paid(hana)
    earn(hana, 100, ago=40, renter=mallory)
    before = payable(hana).payable_micros
    owes(mallory, 500)
    now = payable(hana)
    assert (now.debt_micros, now.unpaid_micros, now.payable_micros) == (0, 0, before)
    assert before >= 90 * UNIT
    assert payable_money_of(payer_id=mallory.pk, owner_id=hana.pk) == "all"
    assert may_order(hana) == (proven or first == "the host")


def test_typing_a_hosts_account_over_http(hana: User, mallory: User, alice: User) -> None:
    with time_machine.travel(days_ago(60), tick=False):
        typed = {"method": "bank", "holder": "Hana Host", "iban": IBAN, "minimum": "10.00"}
        for user in (hana, mallory):
            assert put(confirmed(user), typed).status_code == 200
    earn(hana, 100, ago=40, renter=mallory)
    owes(mallory, 500)
    with time_machine.travel(NOW, tick=False):
        seen = as_user(hana).get("/api/v1/payouts/payable").json()
        assert (seen["debt"], seen["unpaid"], seen["payable"]) == ("0.00", "0.00", "90.00")
        reply = as_user(hana).post("/api/v1/payouts", {}, content_type="application/json")
        assert (reply.status_code, reply.json()["amount"]) == (201, "90.00")


def test_an_account_that_was_typed_before_its_owner_did_is_freed_by_the_first_payout(hana: User, mallory: User) -> None:
    types(mallory, ago=60)
    types(hana, ago=50)
    owes(mallory, 500)
    assert not may_order(hana)
    is_paid(hana)
    assert may_order(hana)
    assert not may_order(mallory)


# -- the debtor


@pytest.mark.parametrize("changes_it", [True, False])
@pytest.mark.parametrize("proven", [True, False])
def test_who_types_a_debtors_account_orders_nothing_and_a_change_sheds_nothing(
    hana: User, mallory: User, proven: bool, changes_it: bool
) -> None:
    types(hana, ago=60)
    if proven:
        is_paid(hana)
    owes(hana, 500)
    types(mallory, ago=50)
    if changes_it:
        types(mallory, ELSEWHERE, ago=45)
        types(hana, "FR1420041010050500013M02606", ago=44)
    earn(mallory, 100, ago=40)
    assert not may_order(mallory)
    assert payable(mallory).debt_micros == (500 * UNIT if proven else 0)
    team = create_team(user=mallory, name="Lab")
    with pytest.raises(NotTransferable), refused():
        transfer_money(sender=mallory, team_id=team.pk, to_id=team_member(team, hana).pk, amount_micros=UNIT)


def team_member(team: Team, user: User) -> User:
    team.memberships.create(user=user, email=user.email, joined_at=NOW)
    return user


def test_who_is_paid_where_a_debtor_was_paid_is_the_debtor_both_ways(hana: User, alice: User) -> None:
    for user in (hana, alice):
        types(user, ago=60)
        is_paid(user)
    assert person_of(hana.pk) == person_of(alice.pk) == {hana.pk, alice.pk}
    run_with_gift(alice, hana)
    assert payable(hana).unpaid_micros == 18 * UNIT
    assert payable_money_of(payer_id=hana.pk, owner_id=alice.pk) == "nothing"
    types(alice, ELSEWHERE, ago=50)
    owes(hana, 500)
    assert payable(alice).debt_micros == 500 * UNIT
    assert not may_order(alice)


def test_who_types_the_account_that_a_renter_is_paid_at_is_not_paid_for_that_renter(hana: User, alice: User) -> None:
    types(alice, ago=60)
    is_paid(alice)
    types(hana, ago=50)
    types(hana, ELSEWHERE, ago=49)
    run_with_gift(alice, hana)
    assert payable(hana).unpaid_micros == 18 * UNIT


def test_a_payout_that_comes_back_proves_nothing(hana: User, alice: User) -> None:
    types(hana, ago=60)
    is_paid(hana)
    types(alice, ago=60)
    payouts = [is_paid(alice), is_paid(alice)]
    for number, payout in enumerate(payouts):
        assert (alice.pk in person_of(hana.pk)) is (number < 2)
        return_payout(payout_id=payout.pk, actor="staff", reason="the bank sent it back")
    assert person_of(hana.pk) == {hana.pk}
    assert person_of(alice.pk) == {alice.pk, hana.pk}


def test_an_account_at_stripe_is_proven_when_it_is_ready(connect: Connect, hana: User, mallory: User) -> None:
    where = Destination("stripe", stripe_account_id=CONNECTED)
    for user in (mallory, hana):
        save_payout_account(owner_id=user.pk, destination=where, minimum_micros=UNIT, automatic=False)
    ConnectedAccount.objects.create(owner=hana, account_id=CONNECTED)
    assert person_of(mallory.pk) == {mallory.pk}
    assert sync_account(account_id=CONNECTED) == "ready"
    owes(mallory, 500)
    assert person_of(mallory.pk) == {mallory.pk, hana.pk}
    assert person_of(hana.pk) == {hana.pk}
    assert may_order(hana)


# -- bids


def test_bids_are_barred_both_ways_and_of_nobody_in_between(hana: User, alice: User, mallory: User, bob: User) -> None:
    """Mallory types the accounts of two hosts, and asks bob into a team: of these only mallory's bids are lost."""
    types(hana, ago=60)
    types(alice, ELSEWHERE, ago=60)
    for iban in (IBAN, ELSEWHERE):
        types(mallory, iban, ago=50)
    team_of(mallory, bob)
    assert linked_accounts(hana.pk) == {hana.pk, mallory.pk}
    assert linked_accounts(alice.pk) == {alice.pk, mallory.pk}
    assert linked_accounts(mallory.pk) == {hana.pk, alice.pk, mallory.pk}


def test_what_is_typed_makes_nobody_a_teammate(hana: User, alice: User, mallory: User, bob: User) -> None:
    """Mallory types the proven account of alice, once in a team with bob, once as the renter of alice's teammate."""
    types(alice, ago=60)
    is_paid(alice)
    types(mallory, ago=55)
    team_of(mallory, bob)
    assert related_accounts(bob.pk) == {bob.pk, mallory.pk}
    team_of(alice, hana)
    run_with_gift(mallory, hana)
    assert (payable(hana).unpaid_micros, payable(hana).payable_micros) == (0, 18 * UNIT)


# -- which account it is


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((IBAN, ""), (IBAN, "Commerzbank")),
        ((IBAN, "Commerzbank"), ("de89 3704 0044 0532 0130 00", "COBADEFF")),
        (("12345-678", "First Bank"), ("12345678", "FIRST  bank")),
        (("12345678", "Straße 1"), ("1234 5678", "STRASSE 1")),
        (("12345678", "First-Bank."), ("12345678", "First Bank")),
        (("12345678", "\uff29\uff23\uff22\uff23"), ("12345678", "icbc")),
    ],
)
def test_other_words_for_the_same_account_make_no_other_person(
    hana: User, alice: User, one: tuple[str, str], other: tuple[str, str]
) -> None:
    types(hana, *one, ago=60)
    types(alice, *other, ago=50)
    owes(hana, 500)
    assert not may_order(alice)


def test_the_same_number_at_another_bank_is_another_account(hana: User, alice: User) -> None:
    types(hana, "12345678", "First Bank", ago=60)
    types(alice, "12345678", "Second Bank", ago=50)
    assert linked_accounts(hana.pk) == {hana.pk}


@given(
    number=st.sampled_from([IBAN, ELSEWHERE, "1234-5678", "62220210011"]),
    bank=st.text("aAß É-.王", max_size=12),
    data=st.data(),
)
def test_how_it_is_written_changes_no_identity(number: str, bank: str, data: Any) -> None:
    plain = parse_destination(method="bank", holder="H", iban=number, bank=f"B{bank}")
    spaces = data.draw(st.lists(st.sampled_from(["", " ", "  "]), min_size=len(number), max_size=len(number)))
    spaced = "".join(letter + space for letter, space in zip(number, spaces, strict=True))
    again = parse_destination(method="bank", holder="Other", iban=spaced.lower(), bank=f" b{bank.upper()} ")
    assert again.identity == plain.identity
    assert plain.identity.isprintable() and len(plain.identity) <= 200


# -- any number of accounts and people

USERS, VALUES = range(4), ("A", "B")
CLAIMS = st.lists(
    st.tuples(st.sampled_from(USERS), st.sampled_from(VALUES), st.booleans()), max_size=7, unique_by=lambda c: c[:2]
)


def reached(start: int, claims: list[tuple[int, str, bool]], *, typed_too: bool) -> set[int]:
    """By hand: from claim to claim in the order in which they were made."""
    seen, todo = {start}, [start]
    while todo:
        person = todo.pop()
        for (mine, own), (theirs, other) in product(enumerate(claims), repeat=2):
            if own[0] != person or own[1] != other[1] or other[0] in seen:
                continue
            if other[2] or (typed_too and not own[2] and theirs < mine):
                seen.add(other[0])
                todo.append(other[0])
    return seen


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(claims=CLAIMS)
def test_any_claims(hana: User, alice: User, bob: User, mallory: User, claims: list[tuple[int, str, bool]]) -> None:
    people = [hana, alice, bob, mallory]
    number = {user.pk: place for place, user in enumerate(people)}
    with transaction.atomic():
        for place, (user, value, proven) in enumerate(claims):
            at = days_ago(60 - place)
            AccountLink.objects.create(
                owner=people[user], kind="payout", value=value, seen_at=at, proven_at=NOW if proven else None
            )
        paid = {user: {number[key] for key in person_of(people[user].pk)} for user in USERS}
        linked = {user: {number[key] for key in linked_accounts(people[user].pk)} for user in USERS}
        transaction.set_rollback(True)
    typed = {user: reached(user, claims, typed_too=True) for user in USERS}
    assert paid == {user: reached(user, claims, typed_too=False) for user in USERS}
    assert linked == {one: typed[one] | {two for two in USERS if one in typed[two]} for one in USERS}
    for one, two in combinations(USERS, 2):
        shared = {c[1] for c in claims if c[0] == one and c[2]} & {c[1] for c in claims if c[0] == two and c[2]}
        assert not shared or (one in paid[two] and two in paid[one])
    for user in USERS:
        own = [claim for claim in claims if claim[0] == user]
        rivals = {claim[:2] for claim in claims if claim[2] and claim[0] != user}
        if all(claim[2] for claim in own) and not {claim[1] for claim in own} & {value for _user, value in rivals}:
            assert typed[user] == {user}, "who has proven what nobody else has answers for nobody"


# -- what was there before


def test_ties_from_before_get_one_name_and_their_proof(hana: User, alice: User, bob: User) -> None:
    """Links with a bank, accounts without a link, a payout that was paid, one that came back, an account at Stripe."""
    AccountLink.objects.create(owner=hana, kind="payout", value=f"{IBAN} Commerzbank", seen_at=days_ago(9))
    AccountLink.objects.create(owner=hana, kind="payout", value=IBAN, seen_at=days_ago(7))
    AccountLink.objects.create(owner=bob, kind="payout", value="12345-678 First Bank", seen_at=days_ago(5))
    AccountLink.objects.create(owner=bob, kind="card", value="fp", seen_at=days_ago(5))
    ConnectedAccount.objects.create(owner=bob, account_id=CONNECTED, is_ready=True, checked_at=days_ago(4))
    account(alice, changed_at=days_ago(8))
    for user, state in ((hana, "paid"), (alice, "failed")):
        kept = Destination("bank", holder="H", iban=IBAN, bank="x").kept()
        values = {"destination": kept, "created_at": days_ago(6), "settled_at": days_ago(3)}
        Payout.objects.create(
            owner=user, method="bank", amount_micros=UNIT, state=state, matured_until=days_ago(6), **values
        )
    migration = importlib.import_module("billing.migrations.0017_proven_payout_accounts")
    apps = MigrationLoader(connection).project_state(("billing", "0028_label_texts")).apps
    for _again in range(2):
        with triggers_off():  # links were not kept yet
            migration.identify(apps, None)
        found = AccountLink.objects.order_by("seen_at").values_list("owner", "kind", "value", "seen_at", "proven_at")
        assert set(found) == {
            (hana.pk, "payout", IBAN, days_ago(9), days_ago(3)),
            (alice.pk, "payout", IBAN, days_ago(8), None),
            (bob.pk, "payout", "12345678 firstbank", days_ago(5), None),
            (bob.pk, "card", "fp", days_ago(5), None),
            (bob.pk, "payout", CONNECTED, days_ago(4), days_ago(4)),
        }


@given(number=st.sampled_from([IBAN, "1234-5678", "acct_1HanaConnected"]), bank=st.text("aAß É-.王\uff29", max_size=12))
def test_the_migration_names_accounts_as_the_market_does(number: str, bank: str) -> None:
    migration = importlib.import_module("billing.migrations.0017_proven_payout_accounts")
    at_stripe = number.startswith("acct_")
    where = Destination("x", stripe_account_id=number if at_stripe else "", iban="" if at_stripe else number, bank=bank)
    assert migration.identity(where.stripe_account_id, where.iban, where.bank) == where.identity
