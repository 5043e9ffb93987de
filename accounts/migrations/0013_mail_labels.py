"""The body of a mail has a label of its own; it had the one of seals."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0012_notification_channels")]

    operations: ClassVar = [
        NameModels(
            fields={
                "outgoingmail": {"body": "body", "fault": "last error", "given_up_at": "failed permanently at"},
            },
            names={},
        )
    ]
