"""Volumes that grow and go to other hosts."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.clock
import common.ids


class Migration(migrations.Migration):
    dependencies = [
        ("storage", "0006_object_storage"),
        ("marketplace", "0004_spot_market"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="VolumeMove",
            fields=[
                ("id", models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("move", "move"), ("copy", "copy")], max_length=4)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("copying", "copying"),
                            ("clearing", "removing the old copy"),
                            ("undoing", "removing what had arrived"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        default="copying",
                        max_length=9,
                        verbose_name="state",
                    ),
                ),
                ("generation", models.PositiveBigIntegerField(default=0)),
                (
                    "micros_per_day",
                    models.BigIntegerField(help_text="Of the whole volume on the new host; frozen at the order."),
                ),
                ("waits_for", models.UUIDField(blank=True, help_text="The instance that runs when it has come.", null=True)),
                ("checksum", models.CharField(blank=True, max_length=64)),
                ("carried_bytes", models.BigIntegerField(default=0)),
                (
                    "cuts",
                    models.PositiveIntegerField(default=0, help_text="How often the way broke and the copying went on."),
                ),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure_detail", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=common.clock.now)),
                ("switched_at", models.DateTimeField(blank=True, help_text="From then on it is the new host's.", null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "move of a volume",
                "verbose_name_plural": "moves of volumes",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.RemoveConstraint(
            model_name="volume",
            name="volume_state",
        ),
        migrations.AlterField(
            model_name="volume",
            name="state",
            field=models.CharField(
                choices=[
                    ("creating", "being made"),
                    ("ready", "ready"),
                    ("restoring", "being restored"),
                    ("moving", "being moved"),
                    ("copying", "being copied"),
                    ("failed", "failed"),
                    ("deleting", "being deleted"),
                    ("gone", "deleted"),
                ],
                default="creating",
                max_length=9,
                verbose_name="state",
            ),
        ),
        migrations.AddConstraint(
            model_name="volume",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["creating", "ready", "restoring", "moving", "copying", "failed", "deleting", "gone"])
                ),
                name="volume_state",
            ),
        ),
        migrations.AddField(
            model_name="volumemove",
            name="from_host",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="marketplace.host"),
        ),
        migrations.AddField(
            model_name="volumemove",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="volumemove",
            name="source",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="moves_out", to="storage.volume"
            ),
        ),
        migrations.AddField(
            model_name="volumemove",
            name="target",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="moves_in", to="storage.volume"
            ),
        ),
        migrations.AddField(
            model_name="volumemove",
            name="to_host",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="marketplace.host"),
        ),
        migrations.AddIndex(
            model_name="volumemove",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)), fields=["to_host"], name="volume_move_to_host"
            ),
        ),
        migrations.AddIndex(
            model_name="volumemove",
            index=models.Index(
                condition=models.Q(("waits_for__isnull", False)), fields=["waits_for"], name="volume_move_waited_for"
            ),
        ),
        migrations.AddConstraint(
            model_name="volumemove",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["copying", "clearing", "undoing", "done", "failed", "cancelled"])),
                name="volume_move_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="volumemove",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", ["move", "copy"])), name="volume_move_kind"),
        ),
        migrations.AddConstraint(
            model_name="volumemove",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", False), ("state__in", ["done", "failed", "cancelled"])),
                    models.Q(("ended_at__isnull", True), ("state__in", ["copying", "clearing", "undoing"])),
                    _connector="OR",
                ),
                name="volume_move_ended_when_over",
            ),
        ),
        migrations.AddConstraint(
            model_name="volumemove",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at__isnull", True)), fields=("source",), name="one_open_move_of_volume"
            ),
        ),
        migrations.AddConstraint(
            model_name="volumemove",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at__isnull", True)), fields=("target",), name="one_open_move_into_volume"
            ),
        ),
    ]
