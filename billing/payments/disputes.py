"""Disputes: a bank takes a payment back.

The wallet gives what it can, the rest is owed, and history stays.
"""

from billing.constants import DISPUTE_SOURCE
from billing.ledger.grants import lock_cash_wallets, movements_in, movements_out
from billing.ledger.postings import Movement, post
from billing.models import Dispute, Entry, Payment, Posting
from billing.states import DISPUTE_MACHINE, DisputeState
from billing.stripe.objects import RemoteDispute
from common import change_counters, clock
from common.jobs import enqueue
from common.transitions import move

_ACTOR = "stripe"


def apply_disputes(*, payment: Payment, remotes: list[RemoteDispute]) -> None:
    """Apply Stripe's state of a payment's disputes.

    The caller has locked the owner's wallets and the payment.
    """
    for remote in remotes:
        dispute = _locked(remote) or (_open(payment, remote) if remote.takes_money else None)
        if dispute is None:
            continue
        dispute.payment = payment
        if remote.status == "won" and dispute.state != DisputeState.WON:
            _win(dispute)
        elif remote.status == "lost" and dispute.state == DisputeState.OPEN:
            _move(dispute, DisputeState.LOST, "the cardholder's bank decided for the cardholder")


def _locked(remote: RemoteDispute) -> Dispute | None:
    rows = Dispute.objects.select_for_update(of=("self",), no_key=True).filter(stripe_id=remote.id)
    return rows.order_by("pk").first()


def _open(payment: Payment, remote: RemoteDispute) -> Dispute:
    dispute = Dispute.objects.create(
        payment=payment,
        amount_micros=remote.amount_micros,
        stripe_id=remote.id,
        reason=remote.reason[:80],
        opened_at=clock.now(),
    )
    movements = movements_out(lock_cash_wallets(owner_id=payment.owner_id), remote.amount_micros, Entry.Kind.DISPUTE)
    _post(dispute, f"dispute:{dispute.stripe_id}", "Payment disputed by the cardholder", movements)
    enqueue("billing.follow_debts")
    return dispute


def _win(dispute: Dispute) -> None:
    movements = movements_in(lock_cash_wallets(owner_id=dispute.payment.owner_id), dispute.amount_micros, Entry.Kind.DISPUTE)
    _post(dispute, f"dispute:{dispute.stripe_id}:won", "Dispute won", movements)
    _move(dispute, DisputeState.WON, "the cardholder's bank decided for the market")


def _post(dispute: Dispute, key: str, memo: str, movements: list[Movement]) -> None:
    post(
        key=key,
        kind=Posting.Kind.DISPUTE,
        source_kind=DISPUTE_SOURCE,
        source_id=dispute.pk,
        memo=memo,
        actor=_ACTOR,
        movements=movements,
        at=clock.now(),
    )


def _move(dispute: Dispute, target: DisputeState, reason: str) -> None:
    move(dispute, target, machine=DISPUTE_MACHINE, reason=reason, actor=_ACTOR, closed_at=clock.now())
    change_counters.notify_change(f"user:{dispute.payment.owner_id.hex}")
