"""A host whose agent's key was revoked, and how many keys of it have been."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0009_system_disks")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="agent_revoked_at",
            field=models.DateTimeField(
                blank=True,
                help_text="Its agent is refused until the host is enrolled anew.",
                null=True,
                verbose_name="agent's key revoked",
            ),
        ),
        migrations.AddField(
            model_name="host",
            name="agent_keys",
            field=models.PositiveIntegerField(default=0, help_text="How many keys of its agent have been revoked."),
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.CheckConstraint(
                condition=Q(agent_revoked_at__isnull=True) | ~Q(state="online"), name="host_without_agent_is_not_online"
            ),
        ),
    ]
