"""Names are printable, in rows that are there too."""

import common.printable
from common.printable import make_printable_sql
from django.conf import settings
from django.db import migrations


COLUMNS = (
    ("marketplace_host", "name"),
    ("marketplace_host", "region"),
    ("marketplace_jointoken", "host_name"),
    ("marketplace_jointoken", "region"),
    ("marketplace_offer", "host_name"),
    ("marketplace_offer", "region"),
    ("marketplace_savedsearch", "name"),
    ("marketplace_maintenance", "detail"),
)


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0010_revoked_agents'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(
            # What an update has put off is done at once: no table is altered before.
            [*(make_printable_sql(*each) for each in COLUMNS), "SET CONSTRAINTS ALL IMMEDIATE"],
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name='host',
            name='name',
            field=common.printable.PrintableField(max_length=80, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='host',
            name='region',
            field=common.printable.PrintableField(max_length=40, verbose_name='region'),
        ),
        migrations.AlterField(
            model_name='jointoken',
            name='host_name',
            field=common.printable.PrintableField(max_length=80),
        ),
        migrations.AlterField(
            model_name='jointoken',
            name='region',
            field=common.printable.PrintableField(max_length=40),
        ),
        migrations.AlterField(
            model_name='maintenance',
            name='detail',
            field=common.printable.PrintableField(blank=True, max_length=300, verbose_name='detail'),
        ),
        migrations.AlterField(
            model_name='offer',
            name='host_name',
            field=common.printable.PrintableField(default='', max_length=80),
        ),
        migrations.AlterField(
            model_name='offer',
            name='region',
            field=common.printable.PrintableField(max_length=40),
        ),
        migrations.AlterField(
            model_name='savedsearch',
            name='name',
            field=common.printable.PrintableField(max_length=80, verbose_name='name'),
        ),
        migrations.AddConstraint(
            model_name='host',
            constraint=common.printable.Printable(column='name', name='host_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='host',
            constraint=common.printable.Printable(column='region', name='host_region_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='jointoken',
            constraint=common.printable.Printable(column='host_name', name='join_token_host_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='jointoken',
            constraint=common.printable.Printable(column='region', name='join_token_region_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='maintenance',
            constraint=common.printable.Printable(column='detail', name='maintenance_detail_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='offer',
            constraint=common.printable.Printable(column='host_name', name='offer_host_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='offer',
            constraint=common.printable.Printable(column='region', name='offer_region_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='savedsearch',
            constraint=common.printable.Printable(column='name', name='saved_search_name_is_printable'),
        ),
    ]
