"""Template context of the payouts page."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from billing.constants import PAYOUT_HOLDING, PAYOUT_LEAST_MICROS, PAYOUT_RESERVE_BPS, PAYOUT_RESERVE_SPAN
from billing.payouts.selectors import connected_account_of, payable_of, payout_account_of
from billing.stripe.client import is_configured
from common.errors import DomainError

_BPS_PER_PERCENT: Final = 100

_WORDS: Final[dict[str, str | Promise]] = {
    "no_payout_account": _("Add a payout account first."),
    "payout_account_waits": _("Payouts to your new account haven't started yet."),
    "payouts_frozen": _("Support has suspended payouts for this account."),
    "payout_account_unfinished": _("Finish setting up your Stripe account first."),
    "payout_under_way": _("You already have a payout in progress. Request the next one once it arrives."),
    "not_payable": _("The available amount is below the minimum payout."),
    "payments_off": _("Stripe payouts aren't available. Enter a bank account."),
    "stripe_unreachable": _("Stripe isn't responding. Nothing was changed; try again in a minute."),
}


def error_text(error: DomainError) -> str:
    """Return an error's text in the reader's language where it is translated, else Stripe's own text."""
    return str(_WORDS.get(error.code, error.detail))


def payouts_context(owner_id: UUID, *, now: datetime) -> dict[str, Any]:
    account = payout_account_of(owner_id)
    return {
        "payable": payable_of(owner_id=owner_id, now=now),
        "account": account,
        "account_waits": account is not None and account.waits_at(now),
        **connect_context(owner_id),
        "holding_days": PAYOUT_HOLDING.days,
        "reserve_percent": PAYOUT_RESERVE_BPS / _BPS_PER_PERCENT,
        "reserve_days": PAYOUT_RESERVE_SPAN.days,
        "least_micros": PAYOUT_LEAST_MICROS,
    }


def connect_context(owner_id: UUID) -> dict[str, Any]:
    """Return whether this market pays by Stripe, and the owner's connected account, if any."""
    return {"pays_by_stripe": is_configured(), "connected": connected_account_of(owner_id)}


def may_lead_to_connect(response: HttpResponse) -> HttpResponse:
    """Allow the page's form to lead to Stripe's page: browsers apply `form-action` to redirects too."""
    response._csp_update = {"form-action": [settings.STRIPE_CONNECT_ORIGIN]}  # type: ignore[attr-defined]  # read by django-csp
    return response
