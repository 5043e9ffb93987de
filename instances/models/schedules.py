"""Timers, weekly schedule, idle stop and lock of an instance, and the retention of its data."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Scheduled(models.Model):
    """Columns of an instance about its schedule.

    `due_at` is when a timer or the weekly schedule is next due. `weekly` holds `{"action": "start" or "stop", "days":
    [0 (Monday) … 6], "time": "HH:MM"}`, in `time_zone`.
    """

    locked = models.BooleanField(
        _("release protection"), default=False, help_text="It is neither released nor given a fresh root."
    )
    timed_stop_at = models.DateTimeField(_("timed stop"), null=True, blank=True)
    timed_release_at = models.DateTimeField(_("timed release"), null=True, blank=True)
    weekly = models.JSONField(_("weekly plan"), default=list, blank=True)
    time_zone = models.CharField(
        _("time zone"), max_length=64, blank=True, help_text="In which `weekly` is read, such as Asia/Shanghai."
    )
    due_at = models.DateTimeField(_("due at"), null=True, blank=True)
    idle_below_pct = models.PositiveSmallIntegerField(
        _("idle below (%)"), null=True, blank=True, help_text="Stop it when its GPUs do less …"
    )
    idle_minutes = models.PositiveSmallIntegerField(
        _("idle for (minutes)"), null=True, blank=True, help_text="… for so long, and nobody is in it."
    )
    idle_from = models.DateTimeField(
        _("idle since"), null=True, blank=True, help_text="When that was asked for: nothing earlier counts."
    )
    paid_from = models.DateTimeField(
        _("paid from"), null=True, blank=True, help_text="Its data is kept for a fee from then on."
    )
    retention_micros_per_day = models.BigIntegerField(
        _("retention, per day (micro-units)"), default=0, help_text="Of that fee; frozen at its first day."
    )
    retention_left = models.DurationField(
        _("retention left"),
        null=True,
        blank=True,
        help_text="While it waits for its GPUs: how long its data would still have been kept.",
    )

    class Meta:
        abstract = True
