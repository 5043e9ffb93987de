"""The cost centre: wallet, statement."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render as render_page

from accounts.signed_in import SignedInRequest, signed_in
from billing.policy import HOLD_HOURS, PLATFORM_FEE_BPS
from billing.selectors import earnings_of, entries_of, statement_lines, statement_of, wallet_of
from common import clock
from common.htmx import render

_RECENT = 8
_PAGE = 50


@signed_in
def wallet(request: SignedInRequest) -> HttpResponse:
    owner_id, now = request.user.pk, clock.now()
    lines = statement_lines(owner_id=owner_id, limit=_RECENT)
    context = {"wallet": wallet_of(owner_id=owner_id, now=now), "now": now, "lines": lines, "hold_hours": HOLD_HOURS}
    return render(request, page="billing/wallet.html", part="billing/_wallet.html", context=context)


@signed_in
def wallet_pill(request: SignedInRequest) -> HttpResponse:
    now = clock.now()
    context = {"wallet": wallet_of(owner_id=request.user.pk, now=now), "now": now}
    return render_page(request, "billing/_wallet_pill.html", context)


@signed_in
def statement(request: SignedInRequest) -> HttpResponse:
    page = Paginator(entries_of(owner_id=request.user.pk), _PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "lines": statement_of(list(page.object_list))}
    return render(request, page="billing/statement.html", part="billing/_statement.html", context=context)


@signed_in
def earnings(request: SignedInRequest) -> HttpResponse:
    earned = earnings_of(owner_id=request.user.pk)
    page = Paginator(earned.lines, _PAGE).get_page(request.GET.get("page"))
    context = {"earned": earned, "page": page, "fee_percent": PLATFORM_FEE_BPS / 100}
    return render(request, page="billing/earnings.html", part="billing/_earnings.html", context=context)
