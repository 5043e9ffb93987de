"""Payouts over HTTP: the API, the console's pages, both panels, and that nobody reaches another's."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.constants import SCOPES
from accounts.models import AccountEvent, OutgoingMail, User
from accounts.tokens.services import issue_token
from billing.errors import PayoutAccountWaits
from billing.models import Payout, PayoutAccount
from billing.payouts.payouts import mark_paid, start_due_payouts
from billing.payouts.selectors import due_owners
from billing.tasks import open_payouts, send_payout, send_payouts
from common.ids import public_id
from config.celery import SWEEPS
from tests.billing.money import UNIT, assert_sound
from tests.billing.payouts.connect import CONNECTED, UNFINISHED, Connect
from tests.billing.payouts.world import IBAN, NOW, account, ask, balance, earn
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

BANK = {"method": "bank", "holder": "Hana Host", "iban": IBAN, "bank": "", "minimum": "10.00", "automatic": "on"}


@pytest.fixture(autouse=True)
def the_clock_stands() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def confirmed(user: User) -> Client:
    """Signed in, and the password given again just now."""
    client = as_user(user)
    EmailAddress.objects.get_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})
    reply = client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert reply.status_code == 302, reply.content.decode()
    return client


@pytest.fixture
def hanas(hana: User) -> Client:
    return confirmed(hana)


def post(client: Client, body: dict[str, Any], query: str = "", **headers: str) -> Any:
    return client.post(f"/api/v1/payouts{query}", body, content_type="application/json", headers=headers)


def put(client: Client, body: dict[str, Any]) -> Any:
    return client.put("/api/v1/payout-account", body, content_type="application/json")


# -- the API


def test_a_payout_is_asked_for_once(hanas: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    first = post(hanas, {"amount": "50.00"}, **{"Idempotency-Key": "k1"})
    again = post(hanas, {"amount": "50.00"}, **{"Idempotency-Key": "k1"})
    other = post(hanas, {"amount": "40.00"}, **{"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert first.json() == again.json()
    assert first.json()["amount"] == "50.00"
    assert (first.json()["state"], first.json()["account_ending"]) == ("pending", "3000")
    assert balance(hana) == 40 * UNIT
    page = hanas.get("/api/v1/payouts").json()
    assert page["results"] == [first.json()]
    assert hanas.get(f"/api/v1/payouts/{first.json()['id']}").json() == first.json()
    assert_sound(NOW)


def test_a_rehearsal_moves_nothing(hanas: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    reply = post(hanas, {}, "?dry_run=true")
    assert (reply.status_code, reply.json()["amount"], reply["Dry-Run"]) == (200, "90.00", "true")
    assert not Payout.objects.exists()
    assert balance(hana) == 90 * UNIT


def test_what_can_be_paid_out(hanas: Client, hana: User) -> None:
    earn(hana, 200, ago=20)
    earn(hana, 100, ago=2)
    assert hanas.get("/api/v1/payouts/payable").json() == {
        "currency": "USD",
        "balance": "270.00",
        "maturing": "90.00",
        "reserve": "27.00",
        "disputed": "0.00",
        "unpaid": "0.00",
        "debt": "0.00",
        "payable": "153.00",
        "under_way": "0.00",
        "frozen": False,
    }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"amount": "90.01"}, 409, "not_payable"),
        ({"amount": "0.99"}, 409, "not_payable"),
        ({"amount": "1.001"}, 400, "invalid_input"),
        ({"amount": "-1"}, 400, "invalid_input"),
        ({"amount": "all"}, 400, "invalid_input"),
    ],
)
def test_refusals(hanas: Client, hana: User, body: dict[str, Any], status: int, code: str) -> None:
    earn(hana, 100, ago=40)
    assert post(hanas, {}).json()["code"] == "no_payout_account"
    account(hana)
    reply = post(hanas, body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert balance(hana) == 90 * UNIT


def test_a_refused_request_leaves_its_key_free(hanas: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    key = {"Idempotency-Key": "k"}
    assert post(hanas, {}, **key).status_code == 409
    account(hana)
    assert post(hanas, {}, **key).status_code == 201


def test_the_account(hanas: Client, connect: Connect) -> None:
    assert hanas.get("/api/v1/payout-account").status_code == 404
    wrong = put(hanas, {"method": "bank", "holder": "Hana", "iban": "DE88370400440532013000"})
    assert (wrong.status_code, [fault["field"] for fault in wrong.json()["errors"]]) == (400, ["iban"])
    saved = put(hanas, {"method": "bank", "holder": "Hana", "iban": IBAN, "minimum": "25"})
    assert saved.status_code == 200
    assert (saved.json()["account_ending"], saved.json()["minimum"]) == ("3000", "25.00")
    assert IBAN not in saved.content.decode()
    assert put(hanas, {"method": "bank", "holder": "Hana", "iban": IBAN, "minimum": "0.5"}).status_code == 400
    assert put(hanas, {"method": "stripe", "stripe_account_id": "acct_ofSomebodyElse"}).json()["code"] == "stripe_refused"
    assert put(hanas, {"method": "stripe", "stripe_account_id": UNFINISHED}).json()["code"] == "stripe_refused"
    connect.broken = True
    assert put(hanas, {"method": "stripe", "stripe_account_id": CONNECTED}).status_code == 503
    connect.broken = False
    assert put(hanas, {"method": "stripe", "stripe_account_id": CONNECTED}).json()["method"] == "stripe"
    assert PayoutAccount.objects.get().iban == ""


def test_without_stripe_only_banks(hanas: Client) -> None:
    assert put(hanas, {"method": "stripe", "stripe_account_id": CONNECTED}).json()["code"] == "payments_off"


def test_nobody_elses(hana: User, mallory: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    other_user = as_user(mallory)
    assert other_user.get(f"/api/v1/payouts/{public_id('payout', payout.pk)}").status_code == 404
    assert other_user.get("/api/v1/payouts").json()["results"] == []
    assert other_user.get("/api/v1/payout-account").status_code == 404
    assert "3000" not in other_user.get("/hosts/payouts").content.decode()


# -- the console


def test_a_host_owner_names_an_account_and_is_paid(hanas: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    assert "Add payout account" in hanas.get("/hosts/payouts").content.decode()
    wrong = hanas.post("/hosts/payouts/account", {**BANK, "iban": "DE00370400440532013000"}).content.decode()
    assert "a character is wrong or missing" in wrong
    assert hanas.post("/hosts/payouts/account", BANK)["Location"] == "/hosts/payouts"
    text = hanas.get("/hosts/payouts").content.decode()
    assert "Payouts to your new account start at" in text
    assert "Pay out $" not in text
    assert "Payouts to your new account haven" in hanas.post("/hosts/payouts/ask", follow=True).content.decode()
    PayoutAccount.objects.update(pays_from=NOW)
    text = hanas.get("/hosts/payouts").content.decode()
    assert "Pay out $90.00" in text
    assert IBAN not in text
    assert hanas.post("/hosts/payouts/ask")["Location"] == "/hosts/payouts"
    text = hanas.get("/hosts/payouts").content.decode()
    assert "is being paid out" in text
    assert "Pay out $" not in text
    assert "You already have a payout in progress" in hanas.post("/hosts/payouts/ask", follow=True).content.decode()
    assert_sound(NOW)


@pytest.mark.parametrize("minimum", ["much", "0.5", ""])
def test_a_wrong_minimum(hanas: Client, minimum: str) -> None:
    assert hanas.post("/hosts/payouts/account", {**BANK, "minimum": minimum}).status_code == 200
    assert not PayoutAccount.objects.exists()


def test_stripe_says_no(hanas: Client, connect: Connect) -> None:
    sent = {**BANK, "method": "stripe", "stripe_account_id": "acct_ofSomebodyElse"}
    assert "account_invalid" in hanas.post("/hosts/payouts/account", sent).content.decode()


def test_below_zero_is_said_in_plain_words(hanas: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    ask(hana)
    from_wallet = hana.wallets.get(kind="host")
    type(from_wallet).objects.filter(pk=from_wallet.pk).update(balance_micros=-12_500_000)
    for path in ("/hosts/payouts", "/hosts/earnings"):
        text = hanas.get(path).content.decode()
        assert "Your earnings are $12.50 below zero" in text
        assert ("your next earnings cover this first" in text) or path == "/hosts/earnings"


def test_frozen_is_said_with_its_reason(hanas: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana, frozen=True, frozen_reason="We ask for papers.")
    text = hanas.get("/hosts/payouts").content.decode()
    assert "We ask for papers." in text
    assert "Pay out $" not in text


@pytest.mark.parametrize("path", ["/hosts/payouts", "/hosts/payouts/account"])
def test_pages_for_who_has_nothing_and_for_strangers(hanas: Client, path: str) -> None:
    assert hanas.get(path).status_code == 200
    assert Client().get(path)["Location"].startswith("/accounts/login/")


def test_asking_is_a_post(hanas: Client) -> None:
    assert hanas.get("/hosts/payouts/ask").status_code == 405


# -- the panels


@pytest.fixture
def staff(stella: User) -> Client:
    return as_user(stella)


def act(client: Client, name: str, *payouts: Payout) -> Any:
    keys = [str(payout.pk) for payout in payouts]
    return client.post(reverse("admin:billing_payout_changelist"), {"action": name, "_selected_action": keys})


def test_staff_export_and_confirm(staff: Client, hana: User, alice: User) -> None:
    for owner in (hana, alice):
        earn(owner, 100, ago=40)
        account(owner)
    first, second = ask(hana), ask(alice)
    reply = act(staff, "export", first)
    assert reply["Content-Type"].startswith("text/csv")
    head, row = reply.content.decode().splitlines()
    name = public_id("payout", first.pk)
    assert head == "payout,holder,iban,bank,amount,currency,remittance"
    assert row == f"{name},Hana Host,{IBAN},,90.00,USD,Berth {name}"
    for payout in (first, second):
        payout.refresh_from_db()
    assert (first.state, second.state) == ("sent", "pending")
    assert act(staff, "export", first).status_code == 302  # nothing is taken twice
    assert act(staff, "download", first).content == reply.content
    assert act(staff, "download", second).status_code == 302
    act(staff, "confirm", first)
    first.refresh_from_db()
    assert (first.state, first.reference) == ("paid", first.batch)
    assert_sound(NOW)


def test_staff_take_one_back(staff: Client, hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    page = reverse("admin:billing_payout_change", args=[payout.pk])
    assert staff.get(page).status_code == 200
    staff.post(page, {"outcome": "failed", "note": ""})  # without a reason
    assert balance(hana) == 0
    staff.post(page, {"outcome": "failed", "note": "The account is closed."})
    payout.refresh_from_db()
    assert (payout.state, payout.failure, balance(hana)) == ("failed", "The account is closed.", 90 * UNIT)
    assert staff.get(page).status_code == 200
    assert_sound(NOW)


def test_staff_ask_stripe(staff: Client, hana: User, connect: Connect) -> None:
    earn(hana, 100, ago=40)
    account(hana, "stripe")
    payout = ask(hana)
    send_payout(str(payout.pk))
    [transfer] = connect.transfers.values()
    transfer["reversed"] = True
    act(staff, "ask_stripe", payout)
    payout.refresh_from_db()
    assert payout.state == "failed"
    assert act(staff, "confirm", payout).status_code == 302
    assert_sound(NOW)


def test_staff_freeze_and_release(staff: Client, hana: User) -> None:
    where = account(hana)
    page = reverse("admin:billing_payoutaccount_change", args=[where.pk])
    staff.post(page, {"frozen": "on", "frozen_reason": ""})
    where.refresh_from_db()
    assert where.frozen is False
    staff.post(page, {"frozen": "on", "frozen_reason": "papers"})
    where.refresh_from_db()
    assert (where.frozen, where.frozen_reason) == (True, "papers")
    staff.post(page, {"frozen_reason": "papers"})
    where.refresh_from_db()
    assert (where.frozen, where.frozen_reason) == (False, "")
    assert where.iban == IBAN


def test_staff_find_who_owes(staff: Client, hana: User, alice: User) -> None:
    for owner in (hana, alice):
        earn(owner, 100, ago=40)
    hana.wallets.filter(kind="host").update(balance_micros=-1)
    rows = staff.get(reverse("admin:billing_wallet_changelist") + "?below=zero").content.decode()
    assert "Hana" in rows
    assert "Alice" not in rows


def test_the_host_panel_shows_the_own_rows(hanas: Client, hana: User, alice: User) -> None:
    for owner in (hana, alice):
        earn(owner, 100, ago=40)
        account(owner)
        ask(owner)
    text = hanas.get(reverse("host_panel:billing_payout_changelist")).content.decode()
    assert text.count("90.00") == 1
    theirs = Payout.objects.get(owner=alice)
    assert hanas.get(reverse("host_panel:billing_payout_change", args=[theirs.pk])).status_code == 302
    assert hanas.get(reverse("host_panel:billing_usage_changelist")).content.decode().count("Data disk") == 1
    assert "90.00 USD" in hanas.get(reverse("host_panel:index")).content.decode()


def test_the_host_panel_shows_the_account_and_changes_nothing(hanas: Client, hana: User) -> None:
    add = reverse("host_panel:billing_payoutaccount_add")
    assert hanas.post(add, BANK).status_code == 403
    saved = account(hana)
    change = reverse("host_panel:billing_payoutaccount_change", args=[saved.pk])
    assert IBAN not in hanas.get(change).content.decode()
    assert hanas.post(change, {**BANK, "iban": "GB33BUKB20201555555555"}).status_code == 403
    saved.refresh_from_db()
    assert saved.iban == IBAN


# -- a new account: confirmed, told by mail, and not paid at once


def test_no_token_names_an_account_and_a_session_must_confirm(hana: User) -> None:
    body = {"method": "bank", "holder": "Mallory", "iban": IBAN}
    _, text = issue_token(user=hana, name="stolen", scopes=list(SCOPES))
    stolen = Client(headers={"authorization": f"Bearer {text}"})
    for client in (stolen, as_user(hana)):
        refused = put(client, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_needed")
    page = as_user(hana)
    for reply in (page.get("/hosts/payouts/account"), page.post("/hosts/payouts/account", BANK)):
        assert reply["Location"].startswith("/accounts/reauthenticate/")
    assert not PayoutAccount.objects.exists()
    assert put(confirmed(hana), body).status_code == 200


def test_a_confirmation_is_good_for_minutes(hana: User) -> None:
    client = confirmed(hana)
    with time_machine.travel(NOW + timedelta(minutes=6), tick=False):
        assert client.get("/hosts/payouts/account").status_code == 302


def test_a_form_that_came_too_late_is_not_lost(hana: User) -> None:
    client = confirmed(hana)
    with time_machine.travel(NOW + timedelta(minutes=6), tick=False):
        location = client.post("/hosts/payouts/account", BANK)["Location"]
        assert client.post(location, {"password": PASSWORD})["Location"] == "/hosts/payouts"
    assert PayoutAccount.objects.get().iban == IBAN


def test_the_owner_is_told_at_the_old_address_too(hana: User) -> None:
    client = confirmed(hana)
    AccountEvent.objects.create(user=hana, kind="email.changed", subject="former@example.com", at=NOW)
    client.post("/hosts/payouts/account", BANK)
    mails = OutgoingMail.objects.order_by("to")
    assert [(row.to, row.subject) for row in mails] == [
        ("former@example.com", "Your account: Payout account changed"),
        ("hana@example.com", "Your account: Payout account changed"),
    ]
    assert "3000" in mails[0].body
    assert IBAN not in mails[0].body


def test_a_new_account_waits_three_days_at_every_door(hana: User) -> None:
    earn(hana, 100, ago=40)
    saved = put(confirmed(hana), {"method": "bank", "holder": "Hana", "iban": IBAN}).json()
    begins = NOW + timedelta(days=3)
    assert saved["pays_from"] == begins.isoformat().replace("+00:00", "Z")
    client = confirmed(hana)
    assert post(client, {}).json()["code"] == "payout_account_waits"
    assert start_due_payouts(now=NOW) == 0
    with time_machine.travel(begins - timedelta(seconds=1), tick=False):
        assert due_owners(now=begins - timedelta(seconds=1)) == []
        with pytest.raises(PayoutAccountWaits):
            ask(hana, at=begins - timedelta(seconds=1))
        with pytest.raises(IntegrityError, match="too new"), transaction.atomic():
            Payout.objects.create(owner=hana, method="bank", amount_micros=1_000_000, matured_until=NOW, requested_by="sql")
    with time_machine.travel(begins, tick=False):
        assert due_owners(now=begins) == [hana.pk]
        assert start_due_payouts(now=begins) == 1


def test_another_minimum_makes_no_new_account(hana: User) -> None:
    client = confirmed(hana)
    client.post("/hosts/payouts/account", BANK)
    PayoutAccount.objects.update(pays_from=NOW - timedelta(days=1))
    client.post("/hosts/payouts/account", {**BANK, "minimum": "50.00"})
    assert PayoutAccount.objects.get().pays_from == NOW - timedelta(days=1)
    client.post("/hosts/payouts/account", {**BANK, "iban": "GB33BUKB20201555555555"})
    assert PayoutAccount.objects.get().pays_from == NOW + timedelta(days=3)


# -- the sweeps


def test_the_sweeps(hana: User, connect: Connect) -> None:
    earn(hana, 100, ago=40)
    account(hana, "stripe")
    open_payouts()
    [payout] = Payout.objects.all()
    send_payouts()
    payout.refresh_from_db()
    assert payout.state == "paid"
    assert mark_paid(payout_id=payout.pk, actor="x", reference="y") is False
    assert {"billing.open_payouts", "billing.send_payouts"} <= set(SWEEPS)
    assert_sound(NOW)
