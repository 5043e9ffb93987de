"""Fresh roots, resizing, starts without a GPU."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("instances", "0004_terms_and_bids"), ("storage", "0003_operations")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="instance",
            name="root_number",
            field=models.PositiveIntegerField(default=0, help_text="Of the root that it is to stand on."),
        ),
        migrations.AddField(
            model_name="instance",
            name="roots_made",
            field=models.PositiveIntegerField(default=0, help_text="The highest root number that was ever asked for."),
        ),
        migrations.AddField(
            model_name="instance",
            name="root_generation",
            field=models.PositiveIntegerField(default=0, help_text="The run that makes the newest root."),
        ),
        migrations.AddField(
            model_name="instance",
            name="former_root",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="instance",
            name="former_image",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="storage.image",
            ),
        ),
        migrations.AddField(
            model_name="instance",
            name="cpu_only",
            field=models.BooleanField(default=False, help_text="Its present or last run is one without GPUs."),
        ),
        migrations.AddField(
            model_name="instance",
            name="cpu_micros_per_hour",
            field=models.BigIntegerField(default=0, help_text="What a run without GPUs costs; frozen at its start."),
        ),
        migrations.AddField(
            model_name="instance",
            name="setback_code",
            field=models.CharField(
                blank=True, default="", max_length=40, help_text="Why what was asked last could not be done."
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="instance",
            name="setback_detail",
            field=models.CharField(blank=True, default="", max_length=300),
            preserve_default=False,
        ),
    ]
