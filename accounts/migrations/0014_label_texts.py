"""Labels of the admin pages say plainly what each field holds."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0013_mail_labels")]

    operations: ClassVar = [
        NameModels(
            fields={
                "accountevent": {"via": "via"},
                "apitoken": {"prefix": "prefix"},
                "outgoingmail": {"tries": "attempts"},
                "user": {"access_version": "access version"},
            },
            names={},
        )
    ]
