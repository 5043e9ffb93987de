"""Labels of the admin pages say plainly what each field holds."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_gateway", "0005_names_for_people")]

    operations: ClassVar = [
        NameModels(
            fields={
                "agentidentity": {"boot_id": "agent start ID", "facts_known": "facts received"},
                "refusedmessage": {"claimed_host": "claimed host", "remote_address": "source address"},
            },
            names={},
        )
    ]
