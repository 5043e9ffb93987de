"""Celery tasks of billing."""

from uuid import UUID

from celery import shared_task

from billing.coupons import codes
from billing.debts import services
from billing.invoices import invoices
from billing.ledger import publish_anchors, seals
from billing.metering import settle
from billing.payments import auto_top_up, payments, reconcile_stripe, refunds, stripe_events
from billing.payouts import payouts, transfers
from billing.standing import mail
from common import clock


@shared_task(name="billing.extend_holds")
def extend_holds() -> None:
    settle.extend_holds(now=clock.now())


@shared_task(name="billing.queue_notices")
def queue_notices() -> None:
    mail.queue_notices(now=clock.now())


@shared_task(name="billing.open_payouts")
def open_payouts() -> None:
    payouts.start_due_payouts(now=clock.now())


@shared_task(name="billing.send_payouts")
def send_payouts() -> None:
    transfers.send_payouts(now=clock.now())


@shared_task(name="billing.send_payout")
def send_payout(payout_id: str) -> None:
    transfers.send_payout(payout_id=UUID(payout_id))


@shared_task(name="billing.apply_stripe_event")
def apply_stripe_event(event_id: str) -> None:
    stripe_events.apply_event(event_id=event_id)


@shared_task(name="billing.apply_stripe_events")
def apply_stripe_events() -> None:
    stripe_events.apply_events(now=clock.now())


@shared_task(name="billing.look_at_payment")
def look_at_payment(payment_id: str) -> None:
    payments.check_payment(payment_id=UUID(hex=payment_id))


@shared_task(name="billing.attend_payments")
def attend_payments() -> None:
    payments.check_pending_payments()


@shared_task(name="billing.send_refund")
def send_refund(refund_id: str) -> None:
    refunds.send_refund(refund_id=UUID(hex=refund_id))


@shared_task(name="billing.send_refunds")
def send_refunds() -> None:
    refunds.send_refunds(now=clock.now())


@shared_task(name="billing.top_up_low_wallets")
def top_up_low_wallets() -> None:
    auto_top_up.top_up_low_wallets(now=clock.now())


@shared_task(name="billing.tell_auto_failures")
def tell_auto_failures() -> None:
    auto_top_up.mail_auto_failures(now=clock.now())


@shared_task(name="billing.run_reconciliation", time_limit=3600)
def run_reconciliation(reconciliation_id: str) -> None:
    reconcile_stripe.run_reconciliation(reconciliation_id=UUID(hex=reconciliation_id))


@shared_task(name="billing.reconcile_stripe", time_limit=3600)
def reconcile_daily() -> None:
    reconcile_stripe.reconcile_daily(now=clock.now())


@shared_task(name="billing.expire_coupons")
def expire_coupons() -> None:
    codes.expire_coupons(now=clock.now())


@shared_task(name="billing.issue_invoices")
def issue_invoices() -> None:
    invoices.issue_invoices(now=clock.now())


@shared_task(name="billing.seal_ledger", time_limit=3600)
def seal_ledger() -> None:
    seals.seal_ledger()
    publish_anchors.anchor_ledger()


@shared_task(name="billing.follow_debts")
def follow_debts() -> None:
    services.collect_debts()
