"""Payouts by bank transfer: staff export pending ones as a batch and CSV, and report their outcome."""

import csv
import io
from collections.abc import Iterable, Sequence
from uuid import UUID

from billing.constants import PAYOUT_BATCH
from billing.models import Payout, PayoutAccount, PayoutMethod
from billing.models.payout_destinations import destination_of
from billing.payouts.payouts import mark_failed, mark_paid, mark_sent
from billing.states import PayoutState
from common import clock
from common.errors import IllegalTransition, InvalidInput
from common.ids import new_uuid, public_id
from common.money import format_money

_SHORT = 6
_HEAD = ("payout", "holder", "iban", "bank", "amount", "currency", "remittance")


def export_batch(*, actor: str, payout_ids: Sequence[UUID] | None = None) -> str:
    """Mark pending payouts by bank, or these of them, as sent in a new batch and return its name.

    The name is empty when there was none to export. Each payout is in one batch at most, however many people
    press the button. `bank_batch` returns what the bank is told, as often as needed.
    """
    frozen = PayoutAccount.objects.filter(frozen=True).values("owner_id")
    waiting = Payout.objects.filter(method=PayoutMethod.BANK, state=PayoutState.PENDING).exclude(owner__in=frozen)
    if payout_ids is not None:
        waiting = waiting.filter(pk__in=payout_ids)
    keys = list(waiting.order_by("created_at", "pk").values_list("pk", flat=True)[:PAYOUT_BATCH])
    batch = f"{clock.now():%Y%m%d-%H%M%S}-{new_uuid().hex[-_SHORT:]}"
    taken = [mark_sent(payout_id=key, actor=actor, batch=batch) for key in keys]
    return batch if any(taken) else ""


def confirm_payout(*, payout_id: UUID, actor: str, reference: str) -> None:
    """Record that the bank has paid; payouts by Stripe are confirmed only by Stripe."""
    if not reference.strip():
        raise InvalidInput("Enter the bank's reference; the host owner may ask for it.")
    if Payout.objects.filter(pk=payout_id, method=PayoutMethod.STRIPE).exists():
        raise IllegalTransition("Stripe itself reports when its transfers arrive.")
    mark_paid(payout_id=payout_id, actor=actor, reference=reference.strip())


def return_payout(*, payout_id: UUID, actor: str, reason: str) -> None:
    """Return a payout's money to the earnings, as the bank refused it or staff cancelled it.

    A payout by Stripe can be cancelled only before it is sent: later, only Stripe knows its state.
    """
    if not reason.strip():
        raise InvalidInput("Enter a reason. The host owner sees it.")
    by_stripe = Payout.objects.filter(pk=payout_id, method=PayoutMethod.STRIPE).exists()
    from_states = (PayoutState.PENDING,) if by_stripe else (PayoutState.PENDING, PayoutState.SENT, PayoutState.PAID)
    mark_failed(payout_id=payout_id, actor=actor, failure=reason.strip(), from_states=from_states)


def bank_csv(payouts: Iterable[Payout], currency: str) -> str:
    """Return the table with one row for each payout.

    Holders and banks cannot begin like a spreadsheet formula: the form of the account refuses that.
    """
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_HEAD)
    for payout in payouts:
        goes_to = destination_of(payout.destination)
        name = public_id("payout", payout.pk)
        amount = format_money(payout.amount_micros)
        table.writerow((name, goes_to.holder, goes_to.iban, goes_to.bank, amount, currency, f"Berth {name}"))
    return text.getvalue()
