"""What follows when the market turns a channel off: an entry in the account's log, and a mail."""

from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.event_log.services import record_event
from accounts.mail.outbox import queue_mail
from accounts.models import NotificationChannel
from accounts.notification_channels.faults import FAULT_LABELS
from common.ids import public_id
from common.mail import name_in_mail


def stop_channel(channel_id: UUID, fault: str) -> None:
    """Record and mail that a channel was turned off, in the transaction that does it."""
    channel = NotificationChannel.objects.select_related("user").get(pk=channel_id)
    record_event(user_id=channel.user_id, kind="channel.stopped", subject=f"{channel.service}: {channel.name}")
    page = settings.SITE_URL + reverse("notification_channel", args=[public_id("chan", channel.pk)])
    with override(channel.user.language):
        params = {
            "name": name_in_mail(channel.name),
            "service": channel.get_service_display(),
            "why": str(FAULT_LABELS.get(fault, fault)).rstrip(".。"),
        }
        sentences = [
            _("Berth no longer sends notifications to %(name)s (%(service)s): every attempt failed.") % params,
            _("Reason: %(why)s.") % params,
            _("Fix the channel, then resume it. Notifications of the last 24 hours are sent then."),
            page,
        ]
        subject = _("Notification channel %(name)s was turned off") % params
    key = f"channel-stopped:{channel.pk.hex}:{channel.paused_at:%Y%m%dT%H%M%S}"
    queue_mail(to=channel.user.email, subject=subject, body="\n\n".join(sentences), key=key)
