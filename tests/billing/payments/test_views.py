"""The pages: truthful before and after the messages, off without Stripe, and nobody else's."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from billing.models import Payment, PaymentProfile, Reconciliation, Refund, StripeEvent
from billing.payments.auto_top_up import top_up_low_wallets
from common import clock
from common.ids import public_id
from tests.billing.money import UNIT
from tests.billing.payments.conftest import SECRET, Market, balance

pytestmark = pytest.mark.django_db


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page_of(payment: Payment) -> str:
    return f"/wallet/top-ups/{public_id('topup', payment.pk)}"


def test_off_is_said_plainly(alice: User) -> None:
    client = browser(alice)
    assert "Card payments aren't available" in client.get("/wallet/top-up").content.decode()
    reply = client.post(
        "/wallet/top-up/pay", {"amount": "25", "key": "k"}, headers={"referer": "http://testserver/wallet/top-up"}
    )
    assert (reply.status_code, reply["Location"], Payment.objects.count()) == (303, "/wallet/top-up", 0)
    assert "Card payments aren't available" in client.get("/wallet/top-up").content.decode()


def test_the_form_leads_to_stripe(market: Market, alice: User) -> None:
    client = browser(alice)
    page = client.get("/wallet/top-up")
    assert "https://checkout.stripe.com" in page["Content-Security-Policy"].partition("form-action")[2].partition(";")[0]
    reply = client.post("/wallet/top-up/pay", {"amount": "25", "key": "k"})
    assert (reply.status_code, reply["Location"]) == (303, Payment.objects.get().checkout_url)
    client.post("/wallet/top-up/pay", {"amount": "25", "key": "k"})
    assert Payment.objects.count() == 1
    wrong = client.post("/wallet/top-up/pay", {"amount": "1", "key": "l"})
    assert "Enter an amount from 5.00 to 5000.00." in wrong.content.decode()


def test_the_page_one_comes_back_to_says_what_is_known(market: Market, alice: User, mallory: User) -> None:
    client, payment = browser(alice), market.top_up(alice, 25)
    assert "You weren't charged" in client.get(page_of(payment) + "?left=1").content.decode()
    market.stripe.pay(str(payment.session_id))
    waiting = client.get(page_of(payment)).content.decode()
    assert "Not confirmed yet" in waiting
    assert "every 3s" in waiting
    market.deliver_all()
    done = client.get(page_of(payment)).content.decode()
    assert "$25.00 added to your wallet" in done
    assert "every 3s" not in done
    assert browser(mallory).get(page_of(payment)).status_code == 404
    assert Client().get(page_of(payment)).status_code == 302


def test_a_refused_card_is_told_with_a_way_to_another(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 25)
    market.stripe.refuse(str(payment.session_id))
    market.deliver_all()
    page = browser(alice).get(page_of(payment)).content.decode()
    assert "Your card was declined." in page
    assert f'<a href="{payment.checkout_url}">Try another card</a>' in page
    assert "is being processed" not in browser(alice).get("/wallet").content.decode()


def test_unspent_money_is_sent_back_from_its_page(market: Market, alice: User, mallory: User) -> None:
    payment, key = market.paid(alice, 25), uuid4()
    client, form = browser(alice), {"amount": 10 * UNIT, "key": key}
    assert "Refund $25.00" in client.get(page_of(payment)).content.decode()
    assert browser(mallory).post(page_of(payment) + "/refund", form).status_code == 404
    for _ in range(2):
        assert client.post(page_of(payment) + "/refund", form).status_code == 302
    assert (balance(alice), Refund.objects.count()) == (15 * UNIT, 1)
    with time_machine.travel(clock.now() + timedelta(days=15)):
        assert "Refund $" not in browser(alice).get(page_of(payment)).content.decode()


def test_the_saved_card_and_its_rule(market: Market, alice: User) -> None:
    client = browser(alice)
    address = client.post("/wallet/top-up/card", {"key": "k"})["Location"]
    market.stripe.save_card(address.rpartition("/")[2])
    assert client.get("/wallet/top-up?card=1").status_code == 302
    market.deliver_all()
    assert "4242" in client.get("/wallet/top-up").content.decode()
    rule = {"auto-enabled": "on", "auto-threshold": "20", "auto-amount": "50", "auto-monthly_cap": "40"}
    assert "must be at least the amount of one top-up" in client.post("/wallet/top-up/auto", rule).content.decode()
    assert client.post("/wallet/top-up/auto", {**rule, "auto-monthly_cap": "50"}).status_code == 302
    assert PaymentProfile.objects.get().auto_enabled
    market.paid(alice, 5)
    top_up_low_wallets(now=clock.now())
    assert balance(alice) == 55 * UNIT
    assert "auto top-up limit reached" in client.get("/wallet").content.decode()
    assert client.post("/wallet/top-up/card/remove").status_code == 302
    assert "Save card without paying" in client.get("/wallet/top-up").content.decode()


def test_debts_and_refused_cards_are_told_on_the_wallet(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    PaymentProfile.objects.update(auto_failure="Your card was declined.")
    market.stripe.dispute(str(payment.intent_id), 15_000)
    market.deliver_all()
    page = browser(alice).get("/wallet").content.decode()
    assert "You owe $50.00" in page
    assert "Your card was declined." in page


def test_staff_refund_with_a_reason(market: Market, alice: User, stella: User) -> None:
    payment, staff = market.paid(alice, 100), browser(stella)
    address = f"/admin/billing/payment/{payment.pk}/change/"
    assert "100.00" in staff.get(address).content.decode()
    empty = {f"{name}-{part}": "0" for name in ("refunds", "disputes") for part in ("TOTAL_FORMS", "INITIAL_FORMS")}
    form = {"refund": "30", "reason": "", "key": uuid4().hex, **empty}
    assert "Enter a reason." in staff.post(address, form).content.decode()
    for _ in range(2):
        assert staff.post(address, {**form, "reason": "double payment"}).status_code == 302
    refund = Refund.objects.get()
    assert (refund.reason, refund.actor, balance(alice)) == ("double payment", f"staff:{stella.pk.hex}", 70 * UNIT)
    answer = staff.post(address, {**form, "reason": "more", "refund": "90", "key": uuid4().hex}, follow=True)
    assert "At most 70.00 of this payment is unspent" in answer.content.decode()


def test_staff_ask_for_a_comparison(market: Market, stella: User, alice: User) -> None:
    staff = browser(stella)
    assert staff.get("/admin/billing/reconciliation/add/").status_code == 200
    assert staff.post("/admin/billing/reconciliation/add/", {}).status_code == 302
    assert Reconciliation.objects.get().requested_by == f"staff:{stella.pk.hex}"
    assert browser(alice).post("/admin/billing/reconciliation/add/", {}).status_code in (302, 403)
    assert Reconciliation.objects.count() == 1


def test_staff_see_what_was_refused_at_the_door(market: Market, stella: User) -> None:
    market.post(b"{}", "t=1,v1=x")
    assert "1 forged" in browser(stella).get("/admin/billing/stripeevent/").content.decode()
    assert (StripeEvent.objects.count(), SECRET) == (0, SECRET)
