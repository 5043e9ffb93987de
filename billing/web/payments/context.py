"""Template context of the pages of top-ups."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpResponse

from billing.constants import RENTER_REFUND_WITHIN
from billing.models import Payment
from billing.payments.selectors import (
    auto_topped_up_micros,
    frozen_micros,
    owed_micros,
    payments_of,
    pending_micros,
    profile_of,
    refund_quote,
    refundable_micros,
)
from billing.states import PaymentState
from billing.stripe import client
from billing.stripe.currencies import top_up_limits
from billing.web.payments.forms import AutoForm, TopUpForm, initial_auto_rule
from common import clock
from common.ids import new_uuid
from common.money import format_money

_PAGE = 20


def top_up_context(
    owner_id: UUID, *, page: str | None, form: TopUpForm | None = None, auto: AutoForm | None = None
) -> dict[str, Any]:
    limits = top_up_limits(settings.MARKET_CURRENCY)
    notices = payment_notices(owner_id)
    return {
        **notices,
        "is_open": client.is_configured(),
        "form": form or TopUpForm(initial={"amount": format_money(limits.chips_micros[1])}),
        "auto": auto or AutoForm(initial=initial_auto_rule(notices["profile"]), prefix="auto"),
        "limits": limits,
        "setup_key": new_uuid().hex,
        "page": Paginator(payments_of(owner_id), _PAGE).get_page(page),
    }


def payment_notices(owner_id: UUID) -> dict[str, Any]:
    """Return notices about a debt, a refused card, a reached limit or pending money.

    They are shown on the wallet and top-up pages.
    """
    profile = profile_of(owner_id)
    month_from = clock.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    charged = auto_topped_up_micros(owner_id, month_from) if profile.auto_enabled else 0
    return {
        "profile": profile,
        "owed_micros": owed_micros(owner_id),
        "frozen_micros": frozen_micros(owner_id),
        "pending_micros": pending_micros(owner_id),
        "charged_micros": charged,
        "cap_reached": profile.auto_enabled and charged + profile.auto_amount_micros > profile.auto_monthly_cap_micros,
        "next_month": (month_from + timedelta(days=32)).replace(day=1),
    }


def payment_context(payment: Payment, *, left: bool) -> dict[str, Any]:
    """Return the context of one payment.

    `quote` is what the renter can refund without asking anybody, and the effect on the bonus.
    """
    paid_at = payment.paid_at
    within = paid_at is not None and clock.now() - paid_at <= RENTER_REFUND_WITHIN
    return {
        "payment": payment,
        "is_pending": payment.state == PaymentState.PENDING,
        "left": left,
        "quote": refund_quote(payment, refundable_micros(payment) if within else 0),
        "refund_days": RENTER_REFUND_WITHIN.days,
        "refund_key": new_uuid().hex,
    }


def may_lead_to_checkout(response: HttpResponse) -> HttpResponse:
    """Allow the page's forms to lead to Stripe's page: browsers apply `form-action` to redirects too."""
    response._csp_update = {"form-action": [settings.STRIPE_CHECKOUT_ORIGIN]}  # type: ignore[attr-defined]  # read by django-csp
    return response
