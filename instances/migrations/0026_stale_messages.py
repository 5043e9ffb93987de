"""Clear messages whose text is changed without them; where 0024 has run already before it did so itself."""

from typing import Any, ClassVar

from django.db import migrations

from instances.migrations._stale_messages import clear_stale_messages


def forwards(_apps: Any, schema_editor: Any) -> None:
    clear_stale_messages(schema_editor.connection)


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [("instances", "0025_launch_settings")]

    operations: ClassVar = [migrations.RunPython(forwards, migrations.RunPython.noop)]
