"""Card payments for the pictures: a stand-in for Stripe, a saved card, and payments in every state."""

from uuid import uuid4

from django.conf import settings

from billing.models import Payment
from billing.payments.cards import AutoRule, save_auto_rule
from billing.payments.payments import start_top_up, sync_session
from billing.payments.refunds import refund_payment, send_refund
from common.ids import public_id
from tests.billing.money import UNIT
from tests.billing.payments.stand_in import StandIn, serve
from tests.web.world import World


def payment_pages(world: World) -> dict[str, tuple[str, str]]:
    """Turns card payments on for this process, and gives name → (who, path)."""
    stripe = StandIn()
    settings.STRIPE_SECRET_KEY, settings.STRIPE_API_BASE = "sk_test_pictures", serve(stripe)[1]
    paid = _paid(world, stripe, 100, save_card=True)
    save_auto_rule(owner_id=world.alice.pk, rule=AutoRule(True, 20 * UNIT, 50 * UNIT, 200 * UNIT))
    refund = refund_payment(
        payment_id=paid.pk, amount_micros=20 * UNIT, reason="asked for by the renter", actor="staff", refund_id=uuid4()
    )
    send_refund(refund_id=refund.pk)
    disputed = _paid(world, stripe, 25)
    stripe.dispute(str(disputed.intent_id), 1000)
    sync_session(session_id=str(disputed.session_id))
    gone = _begun(world, 50)
    stripe.expire(str(gone.session_id))
    sync_session(session_id=str(gone.session_id))
    pending = _begun(world, 40)
    stripe.refuse(str(pending.session_id))
    sync_session(session_id=str(pending.session_id))
    return {
        "top-up": ("alice", "/wallet/top-up"),
        "top-up-first": ("hana", "/wallet/top-up"),
        "top-up-paid": ("alice", f"/wallet/top-ups/{public_id('topup', paid.pk)}"),
        "top-up-pending": ("alice", f"/wallet/top-ups/{public_id('topup', pending.pk)}"),
        "staff-payments": ("stella", "/admin/billing/payment/"),
        "staff-payment": ("stella", f"/admin/billing/payment/{paid.pk}/change/"),
        "staff-reconciliations": ("stella", "/admin/billing/reconciliation/"),
    }


def _begun(world: World, units: int, *, save_card: bool = False) -> Payment:
    return start_top_up(owner=world.alice, amount_micros=units * UNIT, save_card=save_card)


def _paid(world: World, stripe: StandIn, units: int, *, save_card: bool = False) -> Payment:
    payment = _begun(world, units, save_card=save_card)
    stripe.pay(str(payment.session_id))
    sync_session(session_id=str(payment.session_id))
    payment.refresh_from_db()
    return payment
