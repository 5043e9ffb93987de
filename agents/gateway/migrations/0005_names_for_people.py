"""Fields and models have names that a panel can show in each language."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_gateway", "0004_keys_revoked_by_host")]

    operations: ClassVar = [
        NameModels(
            fields={
                "agentidentity": {
                    "boot_id": "start of the agent",
                    "enrolled_at": "enrolled at",
                    "facts_known": "knows its facts",
                    "host": "host",
                    "join_hash": "hash of the join token",
                    "last_sequence": "last message",
                    "public_key": "public key",
                    "speed_count": "measured speeds",
                    "speed_sequence": "last measured speed",
                    "speed_since": "speeds measured since",
                },
                "refusedmessage": {
                    "at": "time",
                    "claimed_host": "host that it claimed to be",
                    "detail": "detail",
                    "reason": "reason",
                    "remote_address": "came from",
                },
            },
            names={
                "agentidentity": ("agent identity", "agent identities"),
                "refusedmessage": ("refused message", "refused messages"),
            },
        )
    ]
