"""The address is an email address, as the pages call it."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0010_names_for_people")]

    operations: ClassVar = [
        NameModels(
            fields={"membership": {"email": "email address"}, "user": {"email": "email address"}},
            names={"outgoingmail": ("outgoing email", "outgoing email")},
        )
    ]
