"""Settings of a user's notification channels: add, change, test, remove, and send a notification again."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Q
from django.utils.translation import gettext as _

from accounts.constants import (
    CHANNEL_KINDS,
    CHANNEL_TEST,
    MAX_CHANNELS,
    NOTIFICATION_TRIED,
    REPEATED_AFTER,
    SENDS_PER_MINUTE,
)
from accounts.errors import TooMany
from accounts.event_log.services import record_event
from accounts.models import NotificationChannel, NotificationDelivery, User, WebhookEvent
from accounts.notification_channels.credentials import check_credentials, hint_of, seal, unseal
from accounts.notification_channels.formats.parts import Credentials
from accounts.notification_channels.outbox import queue_notifications
from accounts.notification_channels.selectors import channel_of, channels_of, notification_of
from accounts.notification_channels.services import SERVICES
from common import clock
from common.db.transactions import use_case
from common.encryption import CannotDecrypt
from common.errors import TooOften, wrong_field
from common.jobs import enqueue


def add_channel(
    *, user: User, service: str, name: str, credentials: Credentials, kinds: Sequence[str] = ()
) -> NotificationChannel:
    """Add a channel.

    Raises:
        InvalidInput: the service does not exist, or a field is missing or wrong; the errors name the fields.
        TooMany: the account has too many channels.
    """
    if service not in SERVICES:
        raise wrong_field("service", f"Choose from {', '.join(SERVICES)}.")
    checked = check_credentials(service=service, credentials=credentials)
    with use_case():
        User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)  # so that two cannot pass the limit
        if channels_of(user).count() >= MAX_CHANNELS:
            raise TooMany(f"An account has at most {MAX_CHANNELS} notification channels; remove some first.")
        channel = NotificationChannel.objects.create(
            user=user, service=service, name=name, kinds=_kinds(kinds), sealed=seal(checked), hint=hint_of(checked)
        )
        record_event(user_id=user.pk, kind="channel.added", subject=_subject(channel))
    return channel


def change_channel(
    *,
    user: User,
    channel_id: UUID,
    name: str | None = None,
    kinds: Sequence[str] | None = None,
    credentials: Credentials | None = None,
    paused: bool | None = None,
) -> NotificationChannel:
    """Change the given fields; of the credentials, those that are given replace the present ones.

    New credentials resume a channel that the market had paused.
    """
    replaced = None if credentials is None else _replaced(channel_of(user, channel_id), credentials)
    now = clock.now()
    with use_case():
        channel = _locked(user, channel_id)
        channel.name = channel.name if name is None else name
        channel.kinds = channel.kinds if kinds is None else _kinds(kinds)
        if replaced is not None:
            channel.sealed, channel.hint = seal(replaced), hint_of(replaced)
            record_event(user_id=user.pk, kind="channel.changed", subject=_subject(channel))
        if replaced is not None and channel.stopped_for and paused is None:
            paused = False
        if paused is not None and paused != (channel.paused_at is not None):
            _pause_or_resume(channel, paused, now)
        channel.save()
        enqueue("accounts.send_notifications")
    return channel


def remove_channel(*, user: User, channel_id: UUID) -> None:
    """Remove a channel with its log; nothing more is sent."""
    with use_case():
        channel_of(user, channel_id)
        channel = channels_of(user).select_for_update(of=("self",), no_key=False).get(pk=channel_id)  # waits for emit
        record_event(user_id=user.pk, kind="channel.removed", subject=_subject(channel))
        channel.delete()


def send_test(*, user: User, channel_id: UUID) -> NotificationDelivery:
    """Queue a test notification for this channel only, whatever kinds it receives.

    Raises:
        TooOften: see SENDS_PER_MINUTE.
    """
    with use_case():
        channel = _locked(user, channel_id)
        if channel.paused_at is not None:
            raise wrong_field("paused", _("The channel is paused. Resume it first."))
        _check_pace(channel)
        event = WebhookEvent.objects.create(user=user, kind=CHANNEL_TEST, payload={})
        queue_notifications(event=event, channel_ids=[channel.pk])
        return NotificationDelivery.objects.select_related("event").get(channel=channel, event=event)


def send_again(*, user: User, channel_id: UUID, delivery_id: UUID) -> NotificationDelivery:
    """Send a notification again now, and retry for another day if it fails.

    Raises:
        TooOften: see SENDS_PER_MINUTE and REPEATED_AFTER.
    """
    now = clock.now()
    with use_case():
        _check_pace(_locked(user, channel_id))
        delivery = notification_of(user, channel_id, delivery_id)
        if delivery.first_due_at > max(delivery.created_at, now - REPEATED_AFTER):
            raise TooOften("This was just sent again; wait a moment.", wait=REPEATED_AFTER.total_seconds())
        delivery.due_at = delivery.first_due_at = now
        delivery.delivered_at = delivery.gave_up_at = None
        delivery.uncertain = False
        delivery.save(update_fields=["due_at", "first_due_at", "delivered_at", "gave_up_at", "uncertain"])
        enqueue("accounts.send_notifications")
    return delivery


def _check_pace(channel: NotificationChannel) -> None:
    """Limit what a user can have sent to a locked channel, since its address may be somebody else's."""
    counted = Q(event__kind=CHANNEL_TEST) | Q(first_due_at__gt=F("created_at"))
    since = clock.now() - timedelta(minutes=1)
    if NotificationDelivery.objects.filter(counted, channel=channel, first_due_at__gt=since).count() >= SENDS_PER_MINUTE:
        raise TooOften("Too many tests; wait a minute before you try again.", wait=60)


def _pause_or_resume(channel: NotificationChannel, paused: bool, now: datetime) -> None:
    """Pause, or resume from a clean slate; what has waited for more than a day is no longer news."""
    channel.paused_at = now if paused else None
    channel.failing_since, channel.rests_until, channel.refusals, channel.stopped_for = None, None, 0, ""
    if not paused:
        old = NotificationDelivery.objects.filter(channel=channel, due_at__isnull=False)
        old.filter(first_due_at__lte=now - NOTIFICATION_TRIED).update(due_at=None, gave_up_at=now, fault="expired")


def _replaced(channel: NotificationChannel, credentials: Credentials) -> Credentials | None:
    """Return the channel's credentials with the given ones in their place; None if none were given."""
    changes = credentials.values()
    if not changes:
        return None
    try:
        present = unseal(channel).values()
    except CannotDecrypt:
        present = {}  # sealed under a lost key: all of them have to be entered
    return check_credentials(service=channel.service, credentials=Credentials(**{**present, **changes}))


def _kinds(kinds: Sequence[str]) -> list[str]:
    unknown = sorted(set(kinds) - set(CHANNEL_KINDS))
    if unknown:
        raise wrong_field("kinds", f"Unknown: {', '.join(unknown)}. Choose from {', '.join(CHANNEL_KINDS)}.")
    return sorted(set(kinds))


def _locked(user: User, channel_id: UUID) -> NotificationChannel:
    channel_of(user, channel_id)
    return NotificationChannel.objects.select_for_update(of=("self",), no_key=True).get(pk=channel_id)


def _subject(channel: NotificationChannel) -> str:
    return f"{channel.service}: {channel.name}"
