"""A host whose driver changed takes no new rents until a self-test passes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('marketplace', '0015_sweep_runs')]

    operations = [
        migrations.AddField(
            model_name="host",
            name="awaits_test",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its driver changed: no new rents until a self-test passes.",
                verbose_name="awaits a self-test",
            ),
        ),
    ]
