"""A host owner's account at Stripe: begun here, filled in there, paid only while Stripe says that it can be."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.test import Client
from django.urls import reverse
from stripe import WebhookSignature

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from billing.errors import PayoutAccountUnfinished
from billing.models import ConnectedAccount, Payout, PayoutAccount, Posting, StripeEvent
from billing.payments.stripe_events import apply_events
from billing.payouts.payouts import request_payout
from billing.payouts.stripe_connect import start_onboarding
from billing.payouts.transfers import send_payout
from common import clock
from tests.billing.money import assert_sound
from tests.billing.payouts.connect import Connect
from tests.billing.payouts.world import NOW, balance, earn
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

SECRET = "whsec_connect"


@pytest.fixture(autouse=True)
def the_clock_stands(settings: Any) -> Iterator[None]:
    settings.STRIPE_WEBHOOK_SECRETS = ["whsec_own", SECRET]
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def hanas(hana: User, client: Client) -> Client:
    """Who has just given their password again: an account to be paid to is named by nobody else."""
    client.force_login(hana)
    EmailAddress.objects.create(user=hana, email=hana.email, verified=True, primary=True)
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 302
    return client


def complete(connect: Connect, **changes: Any) -> str:
    """Its owner has filled everything in, or what a test says instead."""
    (account,) = connect.accounts.values()
    account |= {"capabilities": {"transfers": "active"}, "payouts_enabled": True, "requirements": {}} | changes
    return str(account["id"])


def deliver(client: Client, kind: str, about: dict[str, Any], number: int = 1, **more: Any) -> None:
    """One signed delivery over HTTP, and the sweep after it."""
    event = {"id": f"evt_{number}", "object": "event", "type": kind, "created": int(clock.now().timestamp())}
    body = json.dumps({**event, "data": {"object": about}, **more})
    signature = WebhookSignature.generate_signature_header(body, SECRET, int(clock.now().timestamp()))
    reply = client.post("/stripe/webhook", body, content_type="application/json", headers={"Stripe-Signature": signature})
    assert reply.status_code == 200
    apply_events(now=clock.now())


def led_to(reply: Any) -> str:
    assert reply.status_code == 302
    return str(reply.headers["Location"])


def test_from_the_button_to_the_first_payout(connect: Connect, hana: User, hanas: Client) -> None:
    page = hanas.get(reverse("payout_account"))
    assert "Set up with Stripe" in page.content.decode()
    assert "https://connect.stripe.com" in page.headers["Content-Security-Policy"]
    onwards = hanas.post(reverse("payout_connect"))
    assert led_to(onwards).startswith("https://connect.stripe.com/setup/")
    assert connect.pages[0]["return_url"].endswith(reverse("payout_connect_return"))
    assert led_to(hanas.get(reverse("payout_connect_return"))) == reverse("payout_account")
    assert not PayoutAccount.objects.exists()
    words = hanas.get(reverse("payout_account")).content.decode()
    assert "Continue at Stripe" in words and "individual.dob.day" in words
    account_id = complete(connect)
    assert led_to(hanas.get(reverse("payout_connect_return"))) == reverse("payouts")
    assert PayoutAccount.objects.get().stripe_account_id == account_id
    earn(hana, 100, ago=40)
    PayoutAccount.objects.update(pays_from=NOW)  # three days later
    payout = request_payout(owner_id=hana.pk, requested_by="test")
    send_payout(payout_id=payout.pk)
    assert [transfer["destination"] for transfer in connect.transfers.values()] == [account_id]
    assert_sound()


def test_a_page_that_has_expired_is_made_anew_for_the_same_account(connect: Connect, hana: User, hanas: Client) -> None:
    hanas.post(reverse("payout_connect"))
    assert led_to(hanas.get(reverse("payout_connect_refresh"))).endswith("/2")
    assert (len(connect.accounts), ConnectedAccount.objects.count()) == (1, 1)


def test_the_api_begins_it_too(connect: Connect, hanas: Client) -> None:
    reply = hanas.post("/api/v1/payout-account/onboarding", content_type="application/json")
    assert (reply.status_code, reply.json()["url"][:26]) == (201, "https://connect.stripe.com")


def test_nobody_is_led_to_stripe_without_the_password(connect: Connect, hana: User) -> None:
    """Neither a stolen token nor a browser that was left open may say whose bank an account at Stripe leads to."""
    _, text = issue_token(user=hana, name="stolen", scopes=list(SCOPES))
    stolen, left = Client(headers={"authorization": f"Bearer {text}"}), Client()
    left.force_login(hana)
    for client in (stolen, left):
        refused = client.post("/api/v1/payout-account/onboarding", content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_needed")
    for name in ("payout_connect", "payout_connect_refresh", "payout_connect_return"):
        ask = left.post if name == "payout_connect" else left.get
        assert led_to(ask(reverse(name))).startswith("/accounts/reauthenticate/")
    assert (connect.accounts, connect.pages) == ({}, [])


def test_the_password_given_leads_on_to_stripe(connect: Connect, hana: User) -> None:
    client = Client()
    client.force_login(hana)
    EmailAddress.objects.create(user=hana, email=hana.email, verified=True, primary=True)
    location = led_to(client.post(reverse("payout_connect")))
    assert led_to(client.post(location, {"password": PASSWORD})).startswith("https://connect.stripe.com/setup/")


def test_a_lost_answer_makes_no_second_account(connect: Connect, hana: User) -> None:
    connect.lose_replies = 1
    start_onboarding(owner=hana)  # the library asks again with the same key
    assert len(connect.accounts) == 1


UNREADY: dict[str, dict[str, Any]] = {
    "no capabilities": {"capabilities": {}},
    "another capability": {"capabilities": {"card_payments": "active"}},
    "pending": {"capabilities": {"transfers": "pending"}},
    "inactive": {"capabilities": {"transfers": "inactive"}},
    "not paid out": {"payouts_enabled": False},
    "payouts not named": {"payouts_enabled": None},
}


@pytest.mark.parametrize("changes", UNREADY.values(), ids=UNREADY.keys())
def test_what_stripe_does_not_say_is_not_so(connect: Connect, hana: User, hanas: Client, changes: dict[str, Any]) -> None:
    hanas.post(reverse("payout_connect"))
    account_id = complete(connect, **changes)
    hanas.get(reverse("payout_connect_return"))
    assert not PayoutAccount.objects.exists()
    typed = {"method": "stripe", "stripe_account_id": account_id}
    reply = hanas.put("/api/v1/payout-account", typed, content_type="application/json")
    assert (reply.status_code, reply.json()["code"]) == (409, "stripe_refused")


def test_an_account_that_stripe_restricts_later_is_not_paid_until_it_is_well(
    connect: Connect, hana: User, hanas: Client
) -> None:
    hanas.post(reverse("payout_connect"))
    account_id = complete(connect)
    hanas.get(reverse("payout_connect_return"))
    earn(hana, 100, ago=40)
    PayoutAccount.objects.update(pays_from=NOW)  # three days later
    waiting = request_payout(owner_id=hana.pk, requested_by="test", amount_micros=10_000_000)
    complete(connect, capabilities={"transfers": "inactive"}, requirements={"disabled_reason": "rejected.fraud"})
    deliver(hanas, "account.updated", {"id": account_id, "object": "account"}, account=account_id)
    assert ConnectedAccount.objects.get().needs == "rejected.fraud"
    send_payout(payout_id=waiting.pk)
    assert (Payout.objects.get().state, connect.transfers) == ("pending", {})
    assert "Stripe can't pay you right now" in hanas.get(reverse("payouts")).content.decode()
    complete(connect)
    deliver(hanas, "capability.updated", {"id": "transfers", "object": "capability"}, 2, account=account_id)
    send_payout(payout_id=waiting.pk)
    assert Payout.objects.get().state == "paid"


def test_nothing_is_asked_for_while_it_is_restricted(connect: Connect, hana: User, hanas: Client) -> None:
    hanas.post(reverse("payout_connect"))
    account_id = complete(connect)
    hanas.get(reverse("payout_connect_return"))
    earn(hana, 100, ago=40)
    complete(connect, payouts_enabled=False)
    deliver(hanas, "payout.failed", {"id": "po_1", "object": "payout"}, account=account_id)
    with pytest.raises(PayoutAccountUnfinished):
        request_payout(owner_id=hana.pk, requested_by="test")


def test_a_reversal_is_heard_and_posted_once(connect: Connect, hana: User, hanas: Client) -> None:
    hanas.post(reverse("payout_connect"))
    complete(connect)
    hanas.get(reverse("payout_connect_return"))
    earn(hana, 100, ago=40)
    before = balance(hana)
    PayoutAccount.objects.update(pays_from=NOW)  # three days later
    payout = request_payout(owner_id=hana.pk, requested_by="test")
    send_payout(payout_id=payout.pk)
    (transfer_id,) = connect.transfers
    deliver(hanas, "transfer.created", {"id": transfer_id, "object": "transfer"}, 1)
    assert Payout.objects.get().state == "paid"
    connect.reverse(transfer_id)
    for number in (2, 2, 3):
        deliver(hanas, "transfer.reversed", {"id": transfer_id, "object": "transfer"}, number)
    assert (Payout.objects.get().state, balance(hana)) == ("failed", before)
    assert Posting.objects.filter(kind="payout").count() == 2
    assert not StripeEvent.objects.filter(applied_at=None).exists()
    assert_sound()


def test_an_account_that_was_closed_at_stripe_is_not_paid_and_heals(connect: Connect, hana: User, hanas: Client) -> None:
    hanas.post(reverse("payout_connect"))
    gone = complete(connect)
    hanas.get(reverse("payout_connect_return"))
    earn(hana, 100, ago=40)
    PayoutAccount.objects.update(pays_from=NOW)  # three days later
    connect.accounts.clear()
    deliver(hanas, "account.updated", {"id": gone, "object": "account"}, account=gone)
    with pytest.raises(PayoutAccountUnfinished):
        request_payout(owner_id=hana.pk, requested_by="test")
    connect.forget_keys()
    for _again in range(2):
        assert led_to(hanas.post(reverse("payout_connect"))).startswith("https://connect.stripe.com/setup/")
    account_id = complete(connect)
    assert account_id != gone
    hanas.get(reverse("payout_connect_return"))
    assert PayoutAccount.objects.get().stripe_account_id == account_id
    PayoutAccount.objects.update(pays_from=NOW)
    send_payout(payout_id=request_payout(owner_id=hana.pk, requested_by="test").pk)
    assert [transfer["destination"] for transfer in connect.transfers.values()] == [account_id]
    assert_sound()


def test_accounts_and_transfers_of_others_are_left_alone(connect: Connect, hanas: Client) -> None:
    connect.transfers["tr_x"] = {"id": "tr_x", "object": "transfer", "amount": 1, "currency": "usd", "reversed": True}
    deliver(hanas, "account.updated", {"id": "acct_other", "object": "account"}, 1, account="acct_other")
    deliver(hanas, "transfer.reversed", {"id": "tr_x", "object": "transfer"}, 2)
    outcomes = set(StripeEvent.objects.values_list("outcome", flat=True))
    assert outcomes == {"not an account of this market", "not a transfer of this market"}
