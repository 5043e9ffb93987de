"""Fields and models have names that a panel can show in each language."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0009_printable_names")]

    operations: ClassVar = [
        NameModels(
            fields={
                "accountevent": {
                    "address": "address",
                    "agent": "browser or program",
                    "at": "time",
                    "kind": "kind",
                    "subject": "subject",
                    "user": "account",
                    "via": "by way of",
                },
                "apitoken": {
                    "created_at": "created at",
                    "expires_at": "expires at",
                    "last_used_at": "last used at",
                    "name": "name",
                    "prefix": "beginning",
                    "revoked_at": "revoked at",
                    "scopes": "scopes",
                    "secret_hash": "hash of the secret",
                    "user": "account",
                },
                "outgoingmail": {
                    "body": "what it covers",
                    "created_at": "created at",
                    "due_at": "due at",
                    "expires_at": "expires at",
                    "fault": "fault",
                    "given_up_at": "given up at",
                    "key": "key",
                    "sent_at": "sent at",
                    "server_failed_at": "mail server failed at",
                    "subject": "subject",
                    "to": "recipient",
                    "tries": "tries",
                },
                "sshkey": {
                    "created_at": "created at",
                    "fingerprint": "fingerprint",
                    "kind": "kind",
                    "name": "name",
                    "public_key": "public key",
                    "user": "account",
                },
                "user": {
                    "access_version": "version of access",
                },
            },
            names={
                "accountevent": ("account event", "account events"),
                "apitoken": ("API token", "API tokens"),
                "sshkey": ("SSH key", "SSH keys"),
            },
        )
    ]
