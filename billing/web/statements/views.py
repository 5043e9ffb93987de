"""Pages of the wallet, and of its statement: filtered, grouped, and as CSV."""

from typing import Any, cast

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render as render_page
from django.views.decorators.http import require_safe

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.constants import HOLD_HOURS
from billing.coupons.selectors import coupon_balance
from billing.ledger.selectors import wallet_of
from billing.statements.groups import statement_groups, used_sources
from billing.statements.selectors import statement_lines
from billing.web.payments.context import payment_notices
from billing.web.statements.csv_export import csv_reply
from billing.web.statements.forms import StatementForm
from common import clock
from common.http.htmx import render

_RECENT = 8
_PAGE = 50


@login_required_page
def wallet(request: SignedInRequest) -> HttpResponse:
    owner_id, now = request.user.pk, clock.now()
    lines = statement_lines(owner_id=owner_id, limit=_RECENT)
    context = {"wallet": wallet_of(owner_id=owner_id, now=now), "now": now, "lines": lines, "hold_hours": HOLD_HOURS}
    context |= {"coupon_micros": coupon_balance(owner_id=owner_id)} | payment_notices(owner_id)
    return render(request, page="billing/wallet.html", part="billing/_wallet.html", context=context)


@login_required_page
def wallet_pill(request: SignedInRequest) -> HttpResponse:
    now = clock.now()
    context = {"wallet": wallet_of(owner_id=request.user.pk, now=now), "now": now}
    return render_page(request, "billing/_wallet_pill.html", context)


@require_safe
@login_required_page
def statement(request: SignedInRequest) -> HttpResponse:
    """Show the statement line by line, or grouped on request; `cursor` is the last line seen."""
    owner_id = request.user.pk
    form = StatementForm(request.GET, sources=used_sources(owner_id=owner_id))
    cursor = request.GET.get("cursor", "")
    context: dict[str, Any] = {"form": form, "filtered": any(form.filters().values()), "cursor": cursor}
    if form.is_grouped:
        groups = statement_groups(owner_id=owner_id, **form.grouping(), **form.filters())
        context |= {"page": Paginator(groups, _PAGE).get_page(request.GET.get("page")), **form.grouping()}
    else:
        lines = statement_lines(owner_id=owner_id, limit=_PAGE + 1, cursor=cursor, **form.filters())
        context |= {"lines": lines[:_PAGE], "next_cursor": lines[_PAGE - 1].id if len(lines) > _PAGE else ""}
    return render(request, page="billing/statement.html", part="billing/_statement.html", context=context)


@require_safe
@login_required_page
def statement_file(request: SignedInRequest) -> HttpResponse:
    form = StatementForm(request.GET, sources=used_sources(owner_id=request.user.pk))
    return cast(HttpResponse, csv_reply(request.user.pk, **form.filters()))  # streamed: the decorator's type lacks it
