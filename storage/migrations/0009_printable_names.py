"""Names are printable, in rows that are there too."""

import common.printable
from common.printable import make_printable_sql
from django.conf import settings
from django.db import migrations


COLUMNS = (
    ("storage_sharedimage", "title"),
    ("storage_sharedimage", "description"),
    ("storage_image", "title"),
    ("storage_image", "description"),
    ("storage_snapshot", "name"),
    ("storage_dataset", "title"),
    ("storage_dataset", "licence"),
    ("storage_connection", "name"),
)


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0011_printable_names'),
        ('storage', '0008_mail_in_the_outbox'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(
            # What an update has put off is done at once: no table is altered before.
            [*(make_printable_sql(*each) for each in COLUMNS), "SET CONSTRAINTS ALL IMMEDIATE"],
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name='connection',
            name='name',
            field=common.printable.PrintableField(max_length=60, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='licence',
            field=common.printable.PrintableField(blank=True, max_length=120, verbose_name='license'),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='title',
            field=common.printable.PrintableField(max_length=120, verbose_name='title'),
        ),
        migrations.AlterField(
            model_name='image',
            name='description',
            field=common.printable.PrintableField(blank=True, max_length=300),
        ),
        migrations.AlterField(
            model_name='image',
            name='title',
            field=common.printable.PrintableField(max_length=120),
        ),
        migrations.AlterField(
            model_name='sharedimage',
            name='description',
            field=common.printable.PrintableField(blank=True, max_length=1000, verbose_name='description'),
        ),
        migrations.AlterField(
            model_name='sharedimage',
            name='title',
            field=common.printable.PrintableField(max_length=120, verbose_name='title'),
        ),
        migrations.AlterField(
            model_name='snapshot',
            name='name',
            field=common.printable.PrintableField(max_length=80, verbose_name='name'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=common.printable.Printable(column='name', name='connection_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=common.printable.Printable(column='title', name='data_set_title_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=common.printable.Printable(column='licence', name='data_set_licence_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='image',
            constraint=common.printable.Printable(column='title', name='image_title_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='image',
            constraint=common.printable.Printable(column='description', name='image_description_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='sharedimage',
            constraint=common.printable.Printable(column='title', name='shared_image_title_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='sharedimage',
            constraint=common.printable.Printable(column='description', name='shared_image_description_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=common.printable.Printable(column='name', name='snapshot_name_is_printable'),
        ),
    ]
