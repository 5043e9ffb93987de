"""Traces and roll-ups of an instance's usage, and alerts."""

from typing import ClassVar

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from instances.models.instances import Instance


class InstanceTrace(models.Model):
    """Usage second by second from one report: lists of equal length, whose last value is of `at`."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="traces")
    at = models.DateTimeField()
    values = models.JSONField(help_text="Metric → one number a second.")

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["instance", "at"], name="trace_of_instance"),
            BrinIndex(fields=["at"], name="trace_age"),
        ]

    def __str__(self) -> str:
        return f"{self.instance_id} {self.at:%H:%M:%S}"


class InstanceUsage(models.Model):
    """Usage over a minute, an hour or a day.

    It is rolled up from finer rows, and again until its time is over.
    """

    class Grain(models.TextChoices):
        MINUTE = "minute", _("minute")
        HOUR = "hour", _("hour")
        DAY = "day", _("day")

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="usage")
    grain = models.CharField(max_length=6, choices=Grain)
    at = models.DateTimeField(help_text="When it begins.")
    samples = models.PositiveIntegerField()
    cpu_pct = models.FloatField()
    ram_mb = models.FloatField()
    ram_max_mb = models.PositiveIntegerField()
    disk_mb = models.PositiveIntegerField()
    rx_bytes = models.BigIntegerField()
    tx_bytes = models.BigIntegerField()
    gpu_util_pct = models.FloatField()
    gpu_util_max_pct = models.FloatField()
    vram_used_mb = models.FloatField()
    vram_max_mb = models.PositiveIntegerField()
    power_w = models.FloatField()
    temperature_c = models.PositiveSmallIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["instance", "grain", "at"], name="one_usage_per_instance_and_time"),
            models.CheckConstraint(condition=Q(grain__in=["minute", "hour", "day"]), name="usage_grain"),
        ]
        indexes: ClassVar = [models.Index(fields=["grain", "at"], name="usage_age")]

    def __str__(self) -> str:
        return f"{self.grain} {self.at:%Y-%m-%d %H:%M} of {self.instance_id}"


class Alert(models.Model):
    """A problem of an instance, sent once by mail and webhook and shown while it lasts.

    `key` distinguishes several of one kind, such as GPUs. `mailed_at` is when its mail went into the outbox.
    """

    class Kind(models.TextChoices):
        GPU_IDLE = "gpu_idle", _("GPUs idle")
        DISK_FULL = "disk_full", _("data disk almost full")
        INODES_FULL = "inodes_full", _("data disk almost out of inodes")
        MEMORY_HIGH = "memory_high", _("memory almost full")
        OUT_OF_MEMORY = "out_of_memory", _("a program ran out of memory")
        GPU_FAULT = "gpu_fault", _("GPU fault")
        PATH_BROKEN = "path_broken", _("unreachable because of the host")
        DATA_LOST = "data_lost", _("disk problem on the host")
        PAUSED = "paused", _("paused by the host")
        THROTTLED = "throttled", _("limited by the host")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="alerts")
    kind = models.CharField(max_length=13, choices=Kind)
    key = models.CharField(max_length=80, blank=True)
    fault_of = models.CharField(max_length=10, blank=True)
    facts = models.JSONField(default=dict)
    raised_at = models.DateTimeField(default=clock.now)
    seen_at = models.DateTimeField(default=clock.now, help_text="When it was last found to be so.")
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolution = models.CharField(max_length=8, blank=True, help_text="over, renter, ended")
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        ordering = ("-raised_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["instance", "kind", "key"], condition=Q(resolved_at__isnull=True), name="one_open_alert_of_a_kind"
            ),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True, resolution="") | Q(resolved_at__isnull=False) & ~Q(resolution=""),
                name="alert_resolved_somehow",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["kind", "seen_at"], condition=Q(resolved_at__isnull=True), name="alert_open"),
            models.Index(fields=["raised_at"], condition=Q(mailed_at__isnull=True), name="alert_to_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.instance_id}"

    @property
    def mail_key(self) -> str:
        """Return the key of its mail in the outbox."""
        return f"alert:{self.pk.hex}"


class AlertMute(models.Model):
    """A kind of alert that the renter has muted for an instance."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="alert_mutes")
    kind = models.CharField(max_length=13, choices=Alert.Kind)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["instance", "kind"], name="one_mute_of_a_kind")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.instance_id}"
