"""What the page of payouts shows, in words."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from billing.policy import PAYOUT_HOLDING, PAYOUT_LEAST_MICROS, PAYOUT_RESERVE_BPS, PAYOUT_RESERVE_SPAN
from billing.selectors.payouts import payable_of, payout_account_of
from common.errors import DomainError

_BPS_PER_PERCENT: Final = 100

_WORDS: Final[dict[str, str | Promise]] = {
    "no_payout_account": _("Say first where your earnings go to."),
    "payouts_frozen": _("The market's staff have stopped payouts of this account for now."),
    "payout_under_way": _("A payout is on its way already; the next one can follow when it has arrived."),
    "not_payable": _("Too little has matured to be paid out now."),
    "payments_off": _("This market does not pay out by Stripe. Name a bank account."),
    "stripe_unreachable": _("Stripe does not answer now. Nothing was changed; try again in a minute."),
}


def told(error: DomainError) -> str:
    """Why not, in the reader's language where we have the words; Stripe's own reasons come as they are."""
    return str(_WORDS.get(error.code, error.detail))


def payouts_context(owner_id: UUID, *, now: datetime) -> dict[str, Any]:
    account = payout_account_of(owner_id)
    return {
        "payable": payable_of(owner_id=owner_id, now=now),
        "account": account,
        "holding_days": PAYOUT_HOLDING.days,
        "reserve_percent": PAYOUT_RESERVE_BPS / _BPS_PER_PERCENT,
        "reserve_days": PAYOUT_RESERVE_SPAN.days,
        "least_micros": PAYOUT_LEAST_MICROS,
    }
