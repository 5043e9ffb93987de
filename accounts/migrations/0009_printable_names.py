"""Names are printable, in rows that are there too."""

import common.printable
from common.printable import make_printable_sql
from django.db import migrations


COLUMNS = (
    ("accounts_user", "display_name"),
    ("accounts_apitoken", "name"),
    ("accounts_sshkey", "name"),
    ("accounts_team", "name"),
    ("accounts_webhook", "description"),
)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_mail_outbox'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.RunSQL(
            # What an update has put off is done at once: no table is altered before.
            [*(make_printable_sql(*each) for each in COLUMNS), "SET CONSTRAINTS ALL IMMEDIATE"],
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='name',
            field=common.printable.PrintableField(max_length=80),
        ),
        migrations.AlterField(
            model_name='sshkey',
            name='name',
            field=common.printable.PrintableField(max_length=80),
        ),
        migrations.AlterField(
            model_name='team',
            name='name',
            field=common.printable.PrintableField(max_length=80, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='user',
            name='display_name',
            field=common.printable.PrintableField(blank=True, max_length=80, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='webhook',
            name='description',
            field=common.printable.PrintableField(blank=True, max_length=120, verbose_name='description'),
        ),
        migrations.AddConstraint(
            model_name='apitoken',
            constraint=common.printable.Printable(column='name', name='api_token_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='sshkey',
            constraint=common.printable.Printable(column='name', name='ssh_key_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='team',
            constraint=common.printable.Printable(column='name', name='team_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=common.printable.Printable(column='display_name', name='user_display_name_is_printable'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=common.printable.Printable(column='description', name='webhook_description_is_printable'),
        ),
    ]
