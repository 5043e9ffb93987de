"""The host owner's pages of payouts: what can be paid out, what was, and where to."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.signed_in import SignedInRequest, signed_in
from billing.payout_forms import PayoutAccountForm, account_as_typed
from billing.payout_page import payouts_context, told
from billing.selectors.payouts import payout_account_of, payouts_of
from billing.services.payout_accounts import save_payout_account
from billing.services.payouts import request_payout
from common import clock
from common.errors import DomainError
from common.htmx import render

_PAGE = 25


@signed_in
def payouts(request: SignedInRequest) -> HttpResponse:
    owner_id = request.user.pk
    page = Paginator(payouts_of(owner_id), _PAGE).get_page(request.GET.get("page"))
    context = {"page": page, **payouts_context(owner_id, now=clock.now())}
    return render(request, page="billing/payouts.html", part="billing/_payouts.html", context=context)


@require_POST
@signed_in
def payout_ask(request: SignedInRequest) -> HttpResponse:
    """All that can be paid out now."""
    owner_id = request.user.pk
    try:
        request_payout(owner_id=owner_id, requested_by=f"user:{owner_id.hex}")
    except DomainError as error:
        messages.error(request, told(error))
    else:
        messages.success(request, _("It is on its way."))
    return redirect("payouts")


@signed_in
def payout_account(request: SignedInRequest) -> HttpResponse:
    account = payout_account_of(request.user.pk)
    form = PayoutAccountForm(request.POST or None, initial=account_as_typed(account))
    if form.is_valid() and _saved(request, form):
        return redirect("payouts")
    context = {"form": form, "account": account}
    return render(request, page="billing/payout_account.html", part="billing/_payout_account.html", context=context)


def _saved(request: SignedInRequest, form: PayoutAccountForm) -> bool:
    found = form.cleaned_data
    choices = {"minimum_micros": found["minimum"], "automatic": found["automatic"]}
    try:
        save_payout_account(owner_id=request.user.pk, destination=form.destination, **choices)
    except DomainError as error:
        form.add_error(None, told(error))
        return False
    messages.success(request, _("Saved. Payouts from now on go there."))
    return True
