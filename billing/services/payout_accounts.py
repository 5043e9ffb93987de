"""Where a host owner's earnings go, and whether staff let them go at all."""

from uuid import UUID

from billing.models import PayoutAccount, PayoutMethod
from billing.payout_destinations import Destination
from billing.policy import PAYOUT_LEAST_MICROS
from billing.stripe.transfers import check_account
from common import clock, wake
from common.database import use_case
from common.errors import FieldError, InvalidInput, NotFound
from common.money import format_money


def save_payout_account(*, owner_id: UUID, destination: Destination, minimum_micros: int, automatic: bool) -> PayoutAccount:
    """Payouts from now on go there; those that are open keep the account they were opened with.

    Stripe is asked whether it knows the account: raises StripeRefused, StripeUnreachable or PaymentsOff.
    """
    if minimum_micros < PAYOUT_LEAST_MICROS:
        detail = f"At least {format_money(PAYOUT_LEAST_MICROS)}."
        raise InvalidInput(detail, errors=[FieldError("minimum", "invalid", detail)])
    if destination.method == PayoutMethod.STRIPE:
        check_account(destination.stripe_account_id)
    values = {**destination.kept(), "minimum_micros": minimum_micros, "automatic": automatic, "changed_at": clock.now()}
    with use_case():
        account, _made = PayoutAccount.objects.update_or_create(owner_id=owner_id, defaults=values)
        wake.touch(f"user:{owner_id.hex}")
    return account


def freeze_payouts(*, owner_id: UUID, reason: str) -> None:
    """Nothing is opened or sent until staff unfreeze it; what is pending waits."""
    if not reason.strip():
        raise InvalidInput("Say why; the host owner reads it.")
    _set_frozen(owner_id, frozen=True, reason=reason.strip()[:200])


def unfreeze_payouts(*, owner_id: UUID) -> None:
    _set_frozen(owner_id, frozen=False, reason="")


def _set_frozen(owner_id: UUID, *, frozen: bool, reason: str) -> None:
    with use_case():
        if not PayoutAccount.objects.filter(owner_id=owner_id).update(frozen=frozen, frozen_reason=reason):
            raise NotFound("This user has no payout account.")
        wake.touch(f"user:{owner_id.hex}")
