"""What an instance does by itself: timers, a weekly schedule, the stop of what idles, its lock; how long data is kept."""

from django.db import models


class Scheduled(models.Model):
    """Columns of an instance. `due_at` is the next moment at which a timer or its week has something to do.

    `weekly` holds `{"action": "start" or "stop", "days": [0 (Monday) … 6], "time": "HH:MM"}`, read in `time_zone`.
    """

    locked = models.BooleanField(default=False, help_text="It is neither released nor given a fresh root.")
    timed_stop_at = models.DateTimeField(null=True, blank=True)
    timed_release_at = models.DateTimeField(null=True, blank=True)
    weekly = models.JSONField(default=list, blank=True)
    time_zone = models.CharField(max_length=64, blank=True, help_text="In which `weekly` is read, such as Asia/Shanghai.")
    due_at = models.DateTimeField(null=True, blank=True)
    idle_below_pct = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Stop it when its GPUs do less …")
    idle_minutes = models.PositiveSmallIntegerField(null=True, blank=True, help_text="… for so long, and nobody is in it.")
    idle_from = models.DateTimeField(null=True, blank=True, help_text="When that was asked for: nothing earlier counts.")
    paid_from = models.DateTimeField(null=True, blank=True, help_text="Its data is kept for a fee from then on.")
    retention_micros_per_day = models.BigIntegerField(default=0, help_text="Of that fee; frozen at its first day.")
    retention_left = models.DurationField(
        null=True, blank=True, help_text="While it waits for its GPUs: how long its data would still have been kept."
    )

    class Meta:
        abstract = True
