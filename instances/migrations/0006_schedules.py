"""Timers, schedules, idle policies, locks and the return to a taken GPU."""

from typing import ClassVar

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies: ClassVar = [("instances", "0005_actions")]

    operations: ClassVar = [
        migrations.AddField(
            "instance",
            "locked",
            models.BooleanField(default=False, help_text="It is neither released nor given a fresh root."),
        ),
        migrations.AddField("instance", "timed_stop_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("instance", "timed_release_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("instance", "weekly", models.JSONField(blank=True, default=list)),
        migrations.AddField(
            "instance",
            "time_zone",
            models.CharField(blank=True, help_text="In which `weekly` is read, such as Asia/Shanghai.", max_length=64),
            preserve_default=False,
        ),
        migrations.AddField("instance", "due_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "instance",
            "idle_below_pct",
            models.PositiveSmallIntegerField(blank=True, help_text="Stop it when its GPUs do less …", null=True),
        ),
        migrations.AddField(
            "instance",
            "idle_minutes",
            models.PositiveSmallIntegerField(blank=True, help_text="… for so long, and nobody is in it.", null=True),
        ),
        migrations.AddField(
            "instance",
            "idle_from",
            models.DateTimeField(blank=True, help_text="When that was asked for: nothing earlier counts.", null=True),
        ),
        migrations.AddField(
            "instance",
            "paid_from",
            models.DateTimeField(blank=True, help_text="Its data is kept for a fee from then on.", null=True),
        ),
        migrations.AddField(
            "instance",
            "retention_micros_per_day",
            models.BigIntegerField(default=0, help_text="Of that fee; frozen at its first day."),
        ),
        migrations.AddField(
            "instance",
            "retention_left",
            models.DurationField(
                blank=True,
                help_text="While it waits for its GPUs: how long its data would still have been kept.",
                null=True,
            ),
        ),
        migrations.AddField(
            "instancesample",
            "sessions",
            models.PositiveIntegerField(default=0, help_text="SSH and terminal sessions that were open."),
        ),
        migrations.AddConstraint(
            "instance",
            models.CheckConstraint(
                condition=Q(idle_below_pct__isnull=True, idle_minutes__isnull=True)
                | Q(idle_below_pct__gt=0, idle_below_pct__lte=100, idle_minutes__gt=0),
                name="instance_idle_rule_is_whole",
            ),
        ),
        migrations.AddIndex(
            "instance",
            models.Index(condition=Q(due_at__isnull=False), fields=["due_at"], name="instance_timer_due"),
        ),
        migrations.AddIndex(
            "instance",
            models.Index(
                condition=Q(state="running", idle_minutes__isnull=False),
                fields=["id"],
                name="instance_watched_for_idling",
            ),
        ),
    ]
