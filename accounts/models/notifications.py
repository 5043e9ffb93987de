"""Notification channels: where a user reads what happened, such as a Slack channel, and what was sent there."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models.people import WebhookEvent
from common import clock
from common.ids import new_uuid
from common.printable import Printable, PrintableField


class NotificationChannel(models.Model):
    """Chat of a user's that receives notifications.

    The address and all tokens and secrets are in `sealed`, encrypted; only the last characters can be read (`hint`).
    `stopped_for` is a code: why the market itself paused it. It is empty when the user did.
    """

    class Service(models.TextChoices):
        SLACK = "slack", "Slack"
        DISCORD = "discord", "Discord"
        TELEGRAM = "telegram", "Telegram"
        FEISHU = "feishu", _("Feishu / Lark")
        DINGTALK = "dingtalk", _("DingTalk")
        WECOM = "wecom", _("WeCom")
        JSON = "json", _("Custom (JSON)")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notification_channels")
    service = models.CharField(max_length=12, choices=Service)
    name = PrintableField(_("name"), max_length=80)
    kinds = ArrayField(models.CharField(max_length=40), default=list, blank=True, help_text="Empty: every kind.")
    sealed = models.TextField()
    hint = models.CharField(max_length=4, blank=True, help_text="Last characters of its secret part.")
    paused_at = models.DateTimeField(null=True, blank=True)
    stopped_for = models.CharField(max_length=40, blank=True, db_default="", default="")
    refusals = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="In a row, by the service.")
    failing_since = models.DateTimeField(
        null=True, blank=True, help_text="Of the first attempt that failed since one succeeded."
    )
    rests_until = models.DateTimeField(null=True, blank=True, help_text="The service asked us to wait until then.")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            Printable(column="name", name="channel_name_is_printable"),
            models.CheckConstraint(
                condition=Q(service__in=["slack", "discord", "telegram", "feishu", "dingtalk", "wecom", "json"]),
                name="channel_service",
            ),
            models.CheckConstraint(
                condition=Q(stopped_for="") | Q(paused_at__isnull=False), name="stopped_channel_is_paused"
            ),
        ]
        ordering = ("-created_at", "-id")
        indexes: ClassVar = [models.Index(fields=["user"], condition=Q(paused_at__isnull=True), name="channel_live")]

    def __str__(self) -> str:
        return f"{self.service} channel {self.name}"


class NotificationDelivery(models.Model):
    """Delivery of one event to one channel.

    `due_at` is the next attempt; null once it was delivered or given up. `uncertain` says that an attempt began whose
    outcome is unknown: its worker died, or the service did not answer. The message may have arrived.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    channel = models.ForeignKey(NotificationChannel, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(WebhookEvent, on_delete=models.CASCADE, related_name="notifications")
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True, blank=True, default=clock.now)
    first_due_at = models.DateTimeField(default=clock.now, help_text="Tried for a limited time from here.")
    uncertain = models.BooleanField(default=False, db_default=False)
    delivered_at = models.DateTimeField(null=True, blank=True)
    gave_up_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True, help_text="HTTP status of the last answer.")
    fault = models.CharField(max_length=40, blank=True, help_text="Why the last attempt failed: a code.")
    answer = models.CharField(max_length=300, blank=True, help_text="What the service answered, without secrets.")
    tries = models.JSONField(default=list, blank=True, help_text="[{at, status, fault, ms}, …]")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["channel", "event"], name="one_notification_per_channel"),
            models.CheckConstraint(
                condition=Q(due_at__isnull=False, delivered_at__isnull=True, gave_up_at__isnull=True)
                | Q(due_at__isnull=True, delivered_at__isnull=False, gave_up_at__isnull=True)
                | Q(due_at__isnull=True, delivered_at__isnull=True, gave_up_at__isnull=False),
                name="notification_waits_or_ended",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="notification_due"),
            models.Index(fields=["channel", "-created_at", "-id"], name="notification_of_channel"),
        ]

    def __str__(self) -> str:
        return f"{self.event_id} to {self.channel_id}"
