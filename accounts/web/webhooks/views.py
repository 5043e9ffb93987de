"""Settings → Webhooks: the list, and one webhook with its log, test, secret, pause and removal."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.selectors import deliveries_of, webhook_of, webhooks_of
from accounts.web.decorators import SignedInRequest, login_required_page
from accounts.web.webhooks.forms import FAULT_LABELS, KIND_LABELS, WebhookForm
from accounts.webhooks import settings
from common import clock
from common.errors import DomainError
from common.ids import parse_public_id, public_id

_ON_A_PAGE = 20


@login_required_page
def webhooks(request: SignedInRequest) -> HttpResponse:
    """Show the webhooks; a POST adds one, whose secret is only in that response."""
    form, secret, fault = WebhookForm(request.POST or None), "", None
    if form.is_valid():
        try:
            _hook, secret = settings.add_webhook(user=request.user, **form.cleaned_data)
            form = WebhookForm()
        except DomainError as error:
            fault = error
    context = {"hooks": webhooks_of(request.user), "form": form, "secret": secret, "refused": fault, "words": KIND_LABELS}
    return render(request, "accounts/webhooks.html", context, status=fault.status if fault else 200)


@login_required_page
def webhook(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    """Show one webhook; a POST changes it."""
    hook, fault = webhook_of(request.user, _id(webhook_id)), None
    present = {"url": hook.url, "description": hook.description, "kinds": hook.kinds}
    form = WebhookForm(request.POST or None, initial=present)
    if form.is_valid():
        try:
            settings.change_webhook(user=request.user, webhook_id=hook.pk, **form.cleaned_data)
            messages.success(request, _("Webhook saved"))
            return redirect("webhook", webhook_id)
        except DomainError as error:
            fault = error
    context = {**_context(request.user, hook.pk, request), "form": form, "refused": fault}
    return render(request, "accounts/webhook.html", context, status=fault.status if fault else 200)


@login_required_page
def deliveries(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    """Show only the log, which the page reloads after something was sent."""
    return render(request, "accounts/_deliveries.html", _context(request.user, _id(webhook_id), request))


@login_required_page
def webhook_rotate(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    """Replace the secret and show it in this response only; a GET redirects to the webhook."""
    if request.method != "POST":
        return redirect("webhook", webhook_id)
    hook, secret = settings.rotate_secret(user=request.user, webhook_id=_id(webhook_id))
    form = WebhookForm(initial={"url": hook.url, "description": hook.description, "kinds": hook.kinds})
    context = {**_context(request.user, hook.pk, request), "form": form, "secret": secret}
    return render(request, "accounts/webhook.html", context)


@require_POST
@login_required_page
def webhook_test(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    settings.send_test(user=request.user, webhook_id=_id(webhook_id))
    messages.success(request, _("Test message sent. See the result under Deliveries."))
    return redirect("webhook", webhook_id)


@require_POST
@login_required_page
def webhook_again(request: SignedInRequest, webhook_id: str, delivery_id: str) -> HttpResponse:
    place = parse_public_id("dlv", delivery_id)
    settings.send_again(user=request.user, webhook_id=_id(webhook_id), delivery_id=place)
    messages.success(request, _("Message sent again. See the result under Deliveries."))
    return redirect("webhook", webhook_id)


@require_POST
@login_required_page
def webhook_pause(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    settings.change_webhook(user=request.user, webhook_id=_id(webhook_id), paused=True)
    messages.success(request, _("Webhook paused"))
    return redirect("webhook", webhook_id)


@require_POST
@login_required_page
def webhook_resume(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    settings.change_webhook(user=request.user, webhook_id=_id(webhook_id), paused=False)
    messages.success(request, _("Webhook resumed"))
    return redirect("webhook", webhook_id)


@require_POST
@login_required_page
def webhook_remove(request: SignedInRequest, webhook_id: str) -> HttpResponse:
    settings.remove_webhook(user=request.user, webhook_id=_id(webhook_id))
    messages.success(request, _("Webhook deleted"))
    return redirect("webhooks")


def _context(user: User, webhook_id: UUID, request: HttpRequest) -> dict[str, Any]:
    hook = webhook_of(user, webhook_id)
    page = Paginator(deliveries_of(hook), _ON_A_PAGE).get_page(request.GET.get("page"))
    words = {"words": KIND_LABELS, "fault_labels": FAULT_LABELS}
    shown = {"hook": hook, "hook_id": public_id("hook", hook.pk), "page": page, "now": clock.now()}
    return {**shown, **words, "refused": None, "secret": ""}


def _id(text: str) -> UUID:
    return parse_public_id("hook", text)
