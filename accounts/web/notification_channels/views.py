"""Settings → Notifications: the list, adding by service, and one channel with its log, test, pause and removal."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import NotificationChannel, User
from accounts.notification_channels import settings
from accounts.notification_channels.faults import FAULT_LABELS
from accounts.notification_channels.selectors import channel_of, channels_of, notifications_of
from accounts.web.decorators import SignedInRequest, login_required_page
from accounts.web.notification_channels.forms import KIND_LABELS, ChannelForm, where_to_find
from common.errors import DomainError
from common.ids import parse_public_id, public_id

_ON_A_PAGE = 20


@login_required_page
def channels(request: SignedInRequest) -> HttpResponse:
    context = {"channels": channels_of(request.user), "services": NotificationChannel.Service.choices, "words": KIND_LABELS}
    return render(request, "accounts/channels.html", {**context, "fault_labels": FAULT_LABELS})


@login_required_page
def channel_add(request: SignedInRequest, service: str) -> HttpResponse:
    """Show the form with the fields that this service needs; a POST adds the channel."""
    if service not in NotificationChannel.Service.values:
        raise Http404
    form, fault = ChannelForm(request.POST or None, service=service), None
    if form.is_valid():
        try:
            added = settings.add_channel(user=request.user, service=service, **form.wanted)
            messages.success(request, _("Channel added. Send a test to check it."))
            return redirect("notification_channel", public_id("chan", added.pk))
        except DomainError as error:
            fault = form.refuse(error)
    named = {"service": NotificationChannel.Service(service), "where": where_to_find(service)}
    context = {**named, "form": form, "refused": fault}
    return render(request, "accounts/channel_add.html", context, status=400 if form.errors or fault else 200)


@login_required_page
def channel(request: SignedInRequest, channel_id: str) -> HttpResponse:
    """Show one channel; a POST changes it."""
    found, fault = channel_of(request.user, _id(channel_id)), None
    present = {"name": found.name, "kinds": found.kinds}
    form = ChannelForm(request.POST or None, initial=present, service=found.service, kept=True)
    if form.is_valid():
        try:
            settings.change_channel(user=request.user, channel_id=found.pk, **form.wanted)
            messages.success(request, _("Channel saved"))
            return redirect("notification_channel", channel_id)
        except DomainError as error:
            fault = form.refuse(error)
    context = {**_context(request.user, found.pk, request), "form": form, "refused": fault}
    return render(request, "accounts/channel.html", context, status=400 if form.errors or fault else 200)


@login_required_page
def channel_log(request: SignedInRequest, channel_id: str) -> HttpResponse:
    """Show only the log, which the page reloads after something was sent."""
    return render(request, "accounts/_notifications.html", _context(request.user, _id(channel_id), request))


@require_POST
@login_required_page
def channel_test(request: SignedInRequest, channel_id: str) -> HttpResponse:
    settings.send_test(user=request.user, channel_id=_id(channel_id))
    messages.success(request, _("Test notification sent. See the result under Deliveries."))
    return redirect("notification_channel", channel_id)


@require_POST
@login_required_page
def notification_again(request: SignedInRequest, channel_id: str, delivery_id: str) -> HttpResponse:
    place = parse_public_id("ntf", delivery_id)
    settings.send_again(user=request.user, channel_id=_id(channel_id), delivery_id=place)
    messages.success(request, _("Notification sent again. See the result under Deliveries."))
    return redirect("notification_channel", channel_id)


@require_POST
@login_required_page
def channel_pause(request: SignedInRequest, channel_id: str) -> HttpResponse:
    settings.change_channel(user=request.user, channel_id=_id(channel_id), paused=True)
    messages.success(request, _("Channel paused"))
    return redirect("notification_channel", channel_id)


@require_POST
@login_required_page
def channel_resume(request: SignedInRequest, channel_id: str) -> HttpResponse:
    settings.change_channel(user=request.user, channel_id=_id(channel_id), paused=False)
    messages.success(request, _("Channel resumed"))
    return redirect("notification_channel", channel_id)


@require_POST
@login_required_page
def channel_remove(request: SignedInRequest, channel_id: str) -> HttpResponse:
    settings.remove_channel(user=request.user, channel_id=_id(channel_id))
    messages.success(request, _("Channel deleted"))
    return redirect("notification_channels")


def _context(user: User, channel_id: UUID, request: HttpRequest) -> dict[str, Any]:
    found = channel_of(user, channel_id)
    page = Paginator(notifications_of(found), _ON_A_PAGE).get_page(request.GET.get("page"))
    words = {"words": KIND_LABELS, "fault_labels": FAULT_LABELS, "where": where_to_find(found.service)}
    return {"channel": found, "channel_id": public_id("chan", found.pk), "page": page, **words, "refused": None}


def _id(text: str) -> UUID:
    return parse_public_id("chan", text)
