"""Pages of card payments: top up, saved card, automatic top-up, one payment; and Stripe's webhook."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.payments import cards
from billing.payments.payments import enqueue_payment_check, start_top_up
from billing.payments.refunds import refund_own
from billing.payments.selectors import payment_of
from billing.payments.stripe_events import EventRefused, receive_event
from billing.web.payments.context import may_lead_to_checkout, payment_context, top_up_context
from billing.web.payments.forms import AutoForm, RefundForm, TopUpForm
from common.http.htmx import render
from common.ids import new_uuid, parse_public_id

_PAGE, _PART = "billing/top_up.html", "billing/_top_up.html"


@login_required_page
def top_up(request: SignedInRequest) -> HttpResponse:
    if request.GET.get("card"):
        messages.success(request, _("Stripe received your card. It appears here once Stripe confirms it."))
        return redirect("top_up")
    context = top_up_context(request.user.pk, page=request.GET.get("page"))
    return may_lead_to_checkout(render(request, page=_PAGE, part=_PART, context=context))


@require_POST
@login_required_page
def top_up_pay(request: SignedInRequest) -> HttpResponse:
    form = TopUpForm(request.POST)
    if not form.is_valid():
        context = top_up_context(request.user.pk, page=None, form=form)
        return may_lead_to_checkout(render(request, page=_PAGE, part=_PART, context=context))
    wanted = form.cleaned_data
    payment = start_top_up(
        owner=request.user, amount_micros=wanted["amount"], save_card=wanted["save_card"], key=f"page:{wanted['key']}"
    )
    if not payment.checkout_url:
        return redirect("top_up")
    return HttpResponseRedirect(payment.checkout_url, status=303)


@require_POST
@login_required_page
def save_card(request: SignedInRequest) -> HttpResponse:
    key = request.POST.get("key", "")[:64] or new_uuid().hex
    return HttpResponseRedirect(cards.start_card_setup(owner=request.user, key=key), status=303)


@require_POST
@login_required_page
def remove_card(request: SignedInRequest) -> HttpResponse:
    cards.remove_card(owner_id=request.user.pk)
    messages.success(request, _("Card removed, here and at Stripe"))
    return redirect("top_up")


@require_POST
@login_required_page
def auto_rule(request: SignedInRequest) -> HttpResponse:
    form = AutoForm(request.POST, prefix="auto")
    if not form.is_valid():
        context = top_up_context(request.user.pk, page=None, auto=form)
        return may_lead_to_checkout(render(request, page=_PAGE, part=_PART, context=context))
    cards.save_auto_rule(owner_id=request.user.pk, rule=form.rule)
    messages.success(request, _("Saved."))
    return redirect("top_up")


@login_required_page
def top_up_payment(request: SignedInRequest, payment_id: str) -> HttpResponse:
    """Show one payment after the return from Stripe's page, and refresh it while it is not final."""
    payment = payment_of(request.user.pk, parse_public_id("topup", payment_id))
    enqueue_payment_check(payment=payment)
    context = payment_context(payment, left=bool(request.GET.get("left")))
    return render(request, page="billing/top_up_payment.html", part="billing/_top_up_payment.html", context=context)


@require_POST
@login_required_page
def refund(request: SignedInRequest, payment_id: str) -> HttpResponse:
    payment = payment_of(request.user.pk, parse_public_id("topup", payment_id))
    form = RefundForm(request.POST)
    if form.is_valid():
        wanted = form.cleaned_data
        refund_own(
            payment=payment,
            amount_micros=wanted["amount"],
            refund_id=wanted["key"],
            most_bonus_micros=wanted["bonus"] or 0,
        )
        messages.success(request, _("Refund to your card started"))
    return redirect("top_up_payment", payment_id)


@csrf_exempt
@require_POST
def stripe_webhook(request: HttpRequest) -> JsonResponse:
    """Store an event: 200 once it is stored, 400 if it is forged, too old or unreadable."""
    try:
        is_new = receive_event(body=request.body, signature=request.headers.get("Stripe-Signature", ""))
    except EventRefused as refusal:
        return JsonResponse({"error": refusal.reason}, status=400)
    return JsonResponse({"received": True, "new": is_new})
