"""The model `Tie` is called `AccountLink`; its table keeps its name, which triggers and roles refer to."""

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0028_label_texts")]

    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Tie", "AccountLink"),
                migrations.AlterModelTable("AccountLink", "billing_tie"),
            ]
        )
    ]
