"""Object storage: connections, syncs and their schedules."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.clock
import common.ids


class Migration(migrations.Migration):
    dependencies = [
        ("storage", "0005_images"),
        ("marketplace", "0004_spot_market"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="operation",
            name="done_files",
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="operation",
            name="total_files",
            field=models.BigIntegerField(default=0, help_text="0: not known, or not a matter of files."),
        ),
        migrations.CreateModel(
            name="Connection",
            fields=[
                ("id", models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("endpoint", models.CharField(max_length=300, verbose_name="endpoint")),
                ("region", models.CharField(max_length=60, verbose_name="region")),
                ("bucket", models.CharField(max_length=63, verbose_name="bucket")),
                (
                    "prefix",
                    models.CharField(
                        blank=True, help_text="Without slashes at its ends.", max_length=300, verbose_name="folder"
                    ),
                ),
                ("key_id", models.CharField(max_length=200, verbose_name="access key")),
                ("sealed_secret", models.TextField(help_text="Encrypted: see common/sealing.py.")),
                ("virtual_host", models.BooleanField(default=False, help_text="The bucket is part of the host's name.")),
                ("can_write", models.BooleanField(default=True)),
                ("checked_at", models.DateTimeField(default=common.clock.now)),
                ("created_at", models.DateTimeField(default=common.clock.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="connections", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name": "object storage connection",
                "verbose_name_plural": "object storage connections",
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="SyncSchedule",
            fields=[
                ("subject_kind", models.CharField(choices=[("volume", "volume"), ("disk", "data disk")], max_length=6)),
                ("subject_id", models.UUIDField(help_text="The volume, or the instance whose data disk it is.")),
                ("subject_name", models.CharField(max_length=80)),
                (
                    "direction",
                    models.CharField(choices=[("up", "to object storage"), ("down", "from object storage")], max_length=4),
                ),
                ("path", models.CharField(blank=True, help_text="In the disk; empty: all of it.", max_length=500)),
                ("folder", models.CharField(blank=True, help_text="In the connection's own folder.", max_length=500)),
                (
                    "delete_extra",
                    models.BooleanField(default=False, help_text="What the other side does not have is deleted."),
                ),
                ("id", models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ("every_hours", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("days", models.JSONField(blank=True, default=list, help_text="0 (Monday) … 6, with `at` and `time_zone`.")),
                ("at", models.CharField(blank=True, help_text="HH:MM", max_length=5)),
                ("time_zone", models.CharField(blank=True, max_length=64)),
                ("next_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=common.clock.now)),
                (
                    "connection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="schedules", to="storage.connection"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("next_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="Sync",
            fields=[
                ("subject_kind", models.CharField(choices=[("volume", "volume"), ("disk", "data disk")], max_length=6)),
                ("subject_id", models.UUIDField(help_text="The volume, or the instance whose data disk it is.")),
                ("subject_name", models.CharField(max_length=80)),
                (
                    "direction",
                    models.CharField(choices=[("up", "to object storage"), ("down", "from object storage")], max_length=4),
                ),
                ("path", models.CharField(blank=True, help_text="In the disk; empty: all of it.", max_length=500)),
                ("folder", models.CharField(blank=True, help_text="In the connection's own folder.", max_length=500)),
                (
                    "delete_extra",
                    models.BooleanField(default=False, help_text="What the other side does not have is deleted."),
                ),
                ("id", models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ("connection_name", models.CharField(max_length=60)),
                (
                    "cause",
                    models.CharField(
                        choices=[("asked", "asked for"), ("schedule", "schedule"), ("archive", "archive before deletion")],
                        default="asked",
                        max_length=8,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "running"), ("done", "done"), ("failed", "failed"), ("cancelled", "cancelled")],
                        default="running",
                        max_length=9,
                        verbose_name="state",
                    ),
                ),
                ("generation", models.PositiveBigIntegerField(default=0)),
                ("copied_bytes", models.BigIntegerField(default=0)),
                ("copied_files", models.BigIntegerField(default=0)),
                ("same_files", models.BigIntegerField(default=0, help_text="Found to be there already.")),
                ("deleted_files", models.BigIntegerField(default=0)),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure_detail", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=common.clock.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "mail",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("archived", "archived"),
                            ("failed", "an archive failed"),
                            ("given_up", "deleted without an archive"),
                        ],
                        help_text="What its owner is to be written.",
                        max_length=8,
                    ),
                ),
                ("claimed_at", models.DateTimeField(blank=True, null=True)),
                ("mailed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "connection",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="syncs",
                        to="storage.connection",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="marketplace.host"),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="storage.operation",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="syncs", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="syncs",
                        to="storage.syncschedule",
                    ),
                ),
            ],
            options={
                "verbose_name": "sync with object storage",
                "verbose_name_plural": "syncs with object storage",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.AddConstraint(
            model_name="connection",
            constraint=models.UniqueConstraint(fields=("owner", "name"), name="one_connection_per_name"),
        ),
        migrations.AddIndex(
            model_name="syncschedule",
            index=models.Index(fields=["next_at"], name="sync_schedule_due"),
        ),
        migrations.AddConstraint(
            model_name="syncschedule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("at", ""), ("every_hours__gt", 0)),
                    models.Q(("every_hours__isnull", True), models.Q(("at", ""), _negated=True)),
                    _connector="OR",
                ),
                name="sync_schedule_comes_round",
            ),
        ),
        migrations.AddIndex(
            model_name="sync",
            index=models.Index(fields=["subject_id", "-created_at"], name="sync_of_subject"),
        ),
        migrations.AddIndex(
            model_name="sync",
            index=models.Index(fields=["owner", "-created_at"], name="sync_of_owner"),
        ),
        migrations.AddIndex(
            model_name="sync",
            index=models.Index(
                condition=models.Q(("mailed_at__isnull", True), models.Q(("mail", ""), _negated=True)),
                fields=["ended_at"],
                name="sync_to_mail",
            ),
        ),
        migrations.AddConstraint(
            model_name="sync",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["running", "done", "failed", "cancelled"])), name="sync_state"
            ),
        ),
        migrations.AddConstraint(
            model_name="sync",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", True), ("state", "running")),
                    models.Q(models.Q(("state", "running"), _negated=True), ("ended_at__isnull", False)),
                    _connector="OR",
                ),
                name="sync_ended_when_over",
            ),
        ),
        migrations.AddConstraint(
            model_name="sync",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "running")), fields=("subject_id",), name="one_sync_of_a_disk"
            ),
        ),
    ]
