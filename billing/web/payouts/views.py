"""Pages of payouts: payable amount, past payouts, and payout account."""

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.constants import PAYOUT_ACCOUNT_WAIT
from billing.payouts.accounts import save_payout_account
from billing.payouts.payouts import request_payout
from billing.payouts.selectors import payout_account_of, payouts_of
from billing.payouts.stripe_connect import finish_onboarding, start_onboarding
from billing.web.payouts.context import connect_context, error_text, may_lead_to_connect, payouts_context
from billing.web.payouts.forms import PayoutAccountForm, initial_account
from common import clock
from common.errors import DomainError
from common.http.htmx import render

_PAGE = 25


@login_required_page
def payouts(request: SignedInRequest) -> HttpResponse:
    owner_id = request.user.pk
    page = Paginator(payouts_of(owner_id), _PAGE).get_page(request.GET.get("page"))
    context = {"page": page, **payouts_context(owner_id, now=clock.now())}
    return render(request, page="billing/payouts.html", part="billing/_payouts.html", context=context)


@require_POST
@login_required_page
def payout_ask(request: SignedInRequest) -> HttpResponse:
    """Request a payout of everything that can be paid out now."""
    owner_id = request.user.pk
    try:
        request_payout(owner_id=owner_id, requested_by=f"user:{owner_id.hex}")
    except DomainError as error:
        messages.error(request, error_text(error))
    else:
        messages.success(request, _("Payout requested"))
    return redirect("payouts")


@login_required_page
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no type information
def payout_account(request: SignedInRequest) -> HttpResponse:
    account = payout_account_of(request.user.pk)
    form = PayoutAccountForm(request.POST or None, initial=initial_account(account))
    if form.is_valid() and _saved(request, form):
        return redirect("payouts")
    context = {"form": form, "account": account, "wait_days": PAYOUT_ACCOUNT_WAIT.days, **connect_context(request.user.pk)}
    reply = render(request, page="billing/payout_account.html", part="billing/_payout_account.html", context=context)
    return may_lead_to_connect(reply)


@require_POST
@login_required_page
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no type information
def payout_connect(request: SignedInRequest) -> HttpResponse:
    """Redirect to Stripe's page for identity and bank account; whoever completes it is paid."""
    return _to_stripe(request)


@login_required_page
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no type information
def payout_connect_refresh(request: SignedInRequest) -> HttpResponse:
    """Redirect to a new Stripe page, since the earlier one had expired or was opened twice."""
    return _to_stripe(request)


@login_required_page
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no type information
def payout_connect_return(request: SignedInRequest) -> HttpResponse:
    """Check the account after the return from Stripe, which reports no result itself."""
    try:
        account = finish_onboarding(owner_id=request.user.pk)
    except DomainError as error:
        messages.error(request, error_text(error))
        return redirect("payout_account")
    if account.is_ready:
        messages.success(request, _("Your Stripe account is ready. Future payouts go there."))
        return redirect("payouts")
    messages.warning(request, _("Stripe needs more information from you. Continue where you left off."))
    return redirect("payout_account")


def _to_stripe(request: SignedInRequest) -> HttpResponse:
    try:
        return redirect(start_onboarding(owner=request.user))
    except DomainError as error:
        messages.error(request, error_text(error))
        return redirect("payout_account")


def _saved(request: SignedInRequest, form: PayoutAccountForm) -> bool:
    found = form.cleaned_data
    choices = {"minimum_micros": found["minimum"], "automatic": found["automatic"]}
    try:
        save_payout_account(owner_id=request.user.pk, destination=form.destination, **choices)
    except DomainError as error:
        form.add_error(None, error_text(error))
        return False
    messages.success(request, _("Saved."))
    return True
