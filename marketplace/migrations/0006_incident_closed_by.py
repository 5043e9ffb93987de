"""Who or what closed an incident."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0001_squashed_0005_fewer_indexes")]

    operations = [
        migrations.AddField(
            model_name="incident",
            name="closed_by",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Who closed it, or what; empty where it was found to be over.",
                max_length=80,
            ),
            preserve_default=False,
        ),
    ]
