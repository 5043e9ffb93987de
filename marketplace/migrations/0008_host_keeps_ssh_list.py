"""Whether a host can keep SSH of an instance from those who are not on its list of addresses."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0007_host_address")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="keeps_ssh_list",
            field=models.BooleanField(help_text="Lists of addresses for SSH hold here; empty: not known.", null=True),
        ),
    ]
