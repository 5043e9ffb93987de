import common.clock
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("agent_gateway", "0002_superseded_boots")]

    operations = [
        migrations.AddField(
            model_name="agentidentity",
            name="speed_sequence",
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="agentidentity",
            name="speed_count",
            field=models.PositiveIntegerField(default=0, help_text="Speed tests since `speed_since`."),
        ),
        migrations.AddField(
            model_name="agentidentity",
            name="speed_since",
            field=models.DateTimeField(default=common.clock.now),
        ),
    ]
