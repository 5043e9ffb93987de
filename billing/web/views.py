"""Page of the wallet."""

from django.http import HttpResponse
from django.shortcuts import render as render_page

from accounts.web.decorators import SignedInRequest, signed_in
from billing.constants import HOLD_HOURS
from billing.coupons.selectors import coupon_balance
from billing.ledger.selectors import wallet_of
from billing.statements.selectors import statement_lines
from billing.web.payments.context import payment_notices
from common import clock
from common.http.htmx import render

_RECENT = 8


@signed_in
def wallet(request: SignedInRequest) -> HttpResponse:
    owner_id, now = request.user.pk, clock.now()
    lines = statement_lines(owner_id=owner_id, limit=_RECENT)
    context = {"wallet": wallet_of(owner_id=owner_id, now=now), "now": now, "lines": lines, "hold_hours": HOLD_HOURS}
    context |= {"coupon_micros": coupon_balance(owner_id=owner_id)} | payment_notices(owner_id)
    return render(request, page="billing/wallet.html", part="billing/_wallet.html", context=context)


@signed_in
def wallet_pill(request: SignedInRequest) -> HttpResponse:
    now = clock.now()
    context = {"wallet": wallet_of(owner_id=request.user.pk, now=now), "now": now}
    return render_page(request, "billing/_wallet_pill.html", context)
