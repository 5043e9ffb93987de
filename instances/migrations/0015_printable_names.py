"""Names are printable, in rows that are there too."""

import common.printable
from common.printable import make_printable_sql
from django.conf import settings
from django.db import migrations


COLUMNS = (
    ("instances_instance", "name"),
    ("instances_watch", "name"),
)


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0014_mail_in_the_outbox'),
        ('marketplace', '0011_printable_names'),
        ('storage', '0009_printable_names'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(
            # What an update has put off is done at once: no table is altered before.
            [*(make_printable_sql(*each) for each in COLUMNS), "SET CONSTRAINTS ALL IMMEDIATE"],
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name='instance',
            name='name',
            field=common.printable.PrintableField(max_length=80, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='watch',
            name='name',
            field=common.printable.PrintableField(blank=True, max_length=80, verbose_name='name'),
        ),
        migrations.AddConstraint(
            model_name='instance',
            constraint=common.printable.Printable(column='name', name='instance_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='watch',
            constraint=common.printable.Printable(column='name', name='watch_name_is_printable'),
        ),
    ]
