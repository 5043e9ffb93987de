"""Accounts at Stripe that host owners begin here."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.clock


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0014_commitments"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ConnectedAccount",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="connected_account",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("account_id", models.CharField(max_length=64, unique=True)),
                (
                    "is_ready",
                    models.BooleanField(default=False, help_text="May receive transfers, and Stripe pays it out."),
                ),
                (
                    "needs",
                    models.CharField(
                        blank=True, help_text="What Stripe still asks for, in Stripe's names.", max_length=200
                    ),
                ),
                ("checked_at", models.DateTimeField(default=common.clock.now)),
            ],
        ),
    ]
