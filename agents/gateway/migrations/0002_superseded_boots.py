import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("agent_gateway", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="agentidentity",
            name="facts_known",
            field=models.BooleanField(default=False, help_text="This boot has sent the host's facts."),
        ),
        migrations.AddField(
            model_name="agentidentity",
            name="join_hash",
            field=models.CharField(blank=True, default="", help_text="SHA-256 of the join token that made this host.", max_length=64),
            preserve_default=False,
        ),
        migrations.CreateModel(
            name="SupersededBoot",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("boot_id", models.CharField(max_length=40)),
                ("last_sequence", models.BigIntegerField()),
                ("superseded_at", models.DateTimeField()),
                (
                    "identity",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="superseded_boots",
                        to="agent_gateway.agentidentity",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("identity", "boot_id"), name="one_row_per_boot")],
            },
        ),
        migrations.AddIndex(
            model_name="refusedmessage",
            index=models.Index(fields=["remote_address", "at"], name="refused_by_address"),
        ),
    ]
