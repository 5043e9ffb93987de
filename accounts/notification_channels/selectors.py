"""Reads of notification channels and of what was sent to them."""

from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet

from accounts.models import NotificationChannel, NotificationDelivery, User
from common import clock
from common.errors import NotFound


def channels_of(user: User) -> QuerySet[NotificationChannel]:
    return NotificationChannel.objects.filter(user=user)


def channel_of(user: User, channel_id: UUID) -> NotificationChannel:
    """Return a notification channel of the user.

    Raises:
        NotFound: the user has no such channel.
    """
    channel = channels_of(user).filter(pk=channel_id).first()
    if channel is None:
        raise NotFound("This notification channel doesn't exist.")
    return channel


def notifications_of(channel: NotificationChannel) -> QuerySet[NotificationDelivery]:
    """Return the channel's sent and waiting notifications, newest first, each with its event."""
    return NotificationDelivery.objects.filter(channel=channel).select_related("event")


def notification_of(user: User, channel_id: UUID, delivery_id: UUID) -> NotificationDelivery:
    delivery = notifications_of(channel_of(user, channel_id)).filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound("This notification doesn't exist.")
    return delivery


def count_notifications() -> dict[str, int]:
    """Return the number of notifications that wait, and of those given up in the last month."""
    waiting = Q(due_at__isnull=False, channel__paused_at=None)
    given_up = Q(gave_up_at__isnull=False)
    return NotificationDelivery.objects.aggregate(waiting=Count("pk", filter=waiting), given_up=Count("pk", filter=given_up))


def notification_lag_s() -> float:
    """Return how long the oldest notification that is due has been due, in seconds."""
    now = clock.now()
    awake = Q(channel__rests_until=None) | Q(channel__rests_until__lte=now)
    due = NotificationDelivery.objects.filter(awake, due_at__lte=now, channel__paused_at=None)
    oldest = due.aggregate(oldest=Min("due_at"))["oldest"]
    return 0.0 if oldest is None else (now - oldest).total_seconds()
