"""Epochs, hosts that have to agree to the present one, and GPUs that a container unknown to the market holds."""

import common.clock
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0012_names_for_people'),
    ]

    operations = [
        migrations.CreateModel(
            name='Epoch',
            fields=[
                ('number', models.BigIntegerField(help_text='Unix seconds of its beginning, so that no restored database repeats one.', primary_key=True, serialize=False, verbose_name='number')),
                ('reason', models.CharField(max_length=200, verbose_name='reason')),
                ('backup_at', models.DateTimeField(blank=True, null=True, verbose_name='backup of')),
                ('begun_at', models.DateTimeField(default=common.clock.now, verbose_name='begun at')),
                ('findings', models.JSONField(blank=True, default=list, help_text='One sentence each, as it was found out.', verbose_name='what happened after the backup')),
            ],
            options={
                'verbose_name': 'epoch',
                'verbose_name_plural': 'epochs',
                'ordering': ('-number',),
            },
        ),
        migrations.AddField(
            model_name='gpu',
            name='quarantined',
            field=models.BooleanField(db_default=False, default=False, help_text='A container that the market does not know holds it, so it is not rented out.', verbose_name='in quarantine'),
        ),
        migrations.AddField(
            model_name='host',
            name='awaits_epoch',
            field=models.BooleanField(db_default=False, default=False, help_text='Its agent has not told yet what it holds since the market went on from a backup: no new rents.', verbose_name='has to agree to the epoch'),
        ),
    ]
