"""Labels of the admin pages say plainly what each field holds."""

from typing import ClassVar

from django.db import migrations

from common.db.verbose_names import NameModels


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0012_messages")]

    operations: ClassVar = [
        NameModels(
            fields={
                "image": {"active": "enabled", "named_as": "named after"},
                "snapshot": {
                    "source_name": "source name",
                    "failure_code": "failure code",
                    "failure_detail": "failure detail",
                },
                "volume": {"failure_code": "failure code", "failure_detail": "failure detail"},
                "volumemove": {"failure_code": "failure code", "failure_detail": "failure detail"},
            },
            names={"volumemove": ("volume move", "volume moves")},
        )
    ]
