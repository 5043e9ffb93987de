"""Accounts that receive a host owner's earnings, and staff's freeze of payouts."""

from typing import Any
from uuid import UUID

from accounts.event_log.services import record_event
from billing.constants import PAYOUT_ACCOUNT_WAIT, PAYOUT_LEAST_MICROS
from billing.models import PayoutAccount, PayoutMethod
from billing.models.payout_destinations import Destination
from billing.people.account_links import is_removed, record_payout_account
from billing.stripe.connect import check_account
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput, NotFound, wrong_field
from common.money import format_money


def save_payout_account(*, owner_id: UUID, destination: Destination, minimum_micros: int, automatic: bool) -> PayoutAccount:
    """Set the account for payouts from three days on, and notify its owner.

    Open payouts keep the account that they were opened with. The caller has just checked the owner's password or
    second factor. Stripe is asked whether it knows the account.

    Raises:
        InvalidInput: the minimum is too low.
        StripeRefused: Stripe does not accept the account.
        StripeUnreachable: Stripe does not answer.
        PaymentsOff: Stripe is not configured.
    """
    if minimum_micros < PAYOUT_LEAST_MICROS:
        detail = f"At least {format_money(PAYOUT_LEAST_MICROS)}."
        raise InvalidInput(detail, errors=[FieldError("minimum", "invalid", detail)])
    if destination.method == PayoutMethod.STRIPE:
        check_account(destination.stripe_account_id)
    values: dict[str, Any] = {
        **destination.kept(),
        "minimum_micros": minimum_micros,
        "automatic": automatic,
        "changed_at": clock.now(),
    }
    if is_removed(owner_id=owner_id, destination=destination):
        raise wrong_field("iban", "Support has found that this account isn't yours; add another one.")
    with use_case():
        before = PayoutAccount.objects.select_for_update(of=("self",), no_key=True).filter(owner_id=owner_id).first()
        if before is None or before.destination != destination:
            values["pays_from"] = values["changed_at"] + PAYOUT_ACCOUNT_WAIT
            summary = f"{destination.method} …{destination.ending}, {values['pays_from']:%Y-%m-%d %H:%M} UTC"
            record_event(user_id=owner_id, kind="payout_account.changed", subject=summary)
        account, _made = PayoutAccount.objects.update_or_create(owner_id=owner_id, defaults=values)
        record_payout_account(owner_id=owner_id, destination=destination)
        change_counters.notify_change(f"user:{owner_id.hex}")
    return account


def freeze_payouts(*, owner_id: UUID, reason: str) -> None:
    """Stop opening and sending payouts until staff unfreeze them; pending ones wait."""
    if not reason.strip():
        raise InvalidInput("Enter a reason. The host owner sees it.")
    _set_frozen(owner_id, frozen=True, reason=reason.strip()[:200])


def unfreeze_payouts(*, owner_id: UUID) -> None:
    _set_frozen(owner_id, frozen=False, reason="")


def _set_frozen(owner_id: UUID, *, frozen: bool, reason: str) -> None:
    with use_case():
        if not PayoutAccount.objects.filter(owner_id=owner_id).update(frozen=frozen, frozen_reason=reason):
            raise NotFound("This user has no payout account.")
        change_counters.notify_change(f"user:{owner_id.hex}")
