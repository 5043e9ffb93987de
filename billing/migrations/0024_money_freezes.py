"""Times in which no money leaves the market."""

import common.clock
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0023_large_codes_by_two'),
    ]

    operations = [
        migrations.CreateModel(
            name='MoneyFreeze',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('reason', models.CharField(max_length=200, verbose_name='reason')),
                ('since', models.DateTimeField(default=common.clock.now, verbose_name='since')),
                ('lifted_at', models.DateTimeField(blank=True, null=True, verbose_name='lifted at')),
                ('lifted_by', models.CharField(blank=True, max_length=200, verbose_name='lifted by')),
            ],
            options={
                'verbose_name': 'freeze of money',
                'verbose_name_plural': 'freezes of money',
                'ordering': ('-id',),
                'constraints': [models.UniqueConstraint(models.F('lifted_at'), condition=models.Q(('lifted_at', None)), name='one_money_freeze', nulls_distinct=False)],
            },
        ),
    ]
