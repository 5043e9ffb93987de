"""Clones and migrations between hosts."""

from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

import common.clock
import common.ids

_INSTANCE_STATES = [
    ("requested", "requested"),
    ("waiting", "waiting for GPUs"),
    ("provisioning", "provisioning"),
    ("running", "running"),
    ("stopping", "stopping"),
    ("stopped", "stopped"),
    ("starting", "starting"),
    ("restarting", "restarting"),
    ("copying", "copying"),
    ("failed", "failed"),
    ("releasing", "releasing"),
    ("gone", "gone"),
]
_MOVE_STATES = [
    ("copying", "copying"),
    ("starting", "starting on the new host"),
    ("clearing", "removing the old copy"),
    ("undoing", "taking it back"),
    ("done", "done"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
]
_OVER = Q(state__in=["done", "failed", "cancelled"], ended_at__isnull=False)
_OPEN = Q(state__in=["copying", "starting", "clearing", "undoing"], ended_at__isnull=True)


def _to(model: str, related_name: str = "+") -> models.ForeignKey:
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name=related_name, to=model)


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("instances", "0008_watching"),
        ("marketplace", "0004_spot_market"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.RemoveConstraint("instance", "instance_state"),
        migrations.AddField(
            "instance",
            "brought_root",
            models.PositiveIntegerField(
                blank=True,
                help_text="The root number that was brought by a clone or a move, not made from the image.",
                null=True,
            ),
        ),
        migrations.AlterField(
            "instance",
            "state",
            models.CharField(choices=_INSTANCE_STATES, default="requested", max_length=12, verbose_name="state"),
        ),
        migrations.AddConstraint(
            "instance",
            models.CheckConstraint(
                condition=Q(state__in=[value for value, _label in _INSTANCE_STATES]), name="instance_state"
            ),
        ),
        migrations.CreateModel(
            "Move",
            [
                ("id", models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("clone", "clone"), ("migrate", "move")], max_length=7)),
                (
                    "state",
                    models.CharField(choices=_MOVE_STATES, default="copying", max_length=9, verbose_name="state"),
                ),
                ("generation", models.PositiveBigIntegerField(default=0)),
                ("renter", _to(settings.AUTH_USER_MODEL)),
                ("source", _to("instances.instance", "moves_out")),
                ("target", _to("instances.instance", "moves_in")),
                (
                    "quote",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="instances.quote"
                    ),
                ),
                ("from_host", _to("marketplace.host")),
                ("to_host", _to("marketplace.host")),
                ("to_offer", _to("marketplace.offer")),
                ("with_data_disk", models.BooleanField(default=True)),
                (
                    "gpu_uuids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=80),
                        default=list,
                        help_text="Leased for the target.",
                        size=None,
                    ),
                ),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure_detail", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=common.clock.now)),
                (
                    "switched_at",
                    models.DateTimeField(blank=True, help_text="When the target was told to run.", null=True),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={"verbose_name": "move", "verbose_name_plural": "moves", "ordering": ("-created_at", "-id")},
        ),
        migrations.AddIndex(
            "move",
            models.Index(condition=Q(ended_at__isnull=True), fields=["from_host"], name="move_open_from_host"),
        ),
        migrations.AddIndex(
            "move", models.Index(condition=Q(ended_at__isnull=True), fields=["to_host"], name="move_open_to_host")
        ),
        migrations.AddConstraint(
            "move",
            models.CheckConstraint(condition=Q(state__in=[value for value, _label in _MOVE_STATES]), name="move_state"),
        ),
        migrations.AddConstraint("move", models.CheckConstraint(condition=_OVER | _OPEN, name="move_ended_when_over")),
        migrations.AddConstraint(
            "move",
            models.UniqueConstraint(condition=Q(ended_at__isnull=True), fields=("source",), name="one_open_move_of_source"),
        ),
        migrations.AddConstraint(
            "move",
            models.UniqueConstraint(condition=Q(ended_at__isnull=True), fields=("target",), name="one_open_move_of_target"),
        ),
    ]
