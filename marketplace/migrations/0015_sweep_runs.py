"""When each periodic pass was last made."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0014_write_offs'),
    ]

    operations = [
        migrations.CreateModel(
            name='SweepRun',
            fields=[
                ('name', models.CharField(max_length=80, primary_key=True, serialize=False, verbose_name='name')),
                ('every_s', models.PositiveIntegerField(verbose_name='every (s)')),
                ('ended_at', models.DateTimeField(verbose_name='last made at')),
            ],
            options={
                'verbose_name': 'periodic pass',
                'verbose_name_plural': 'periodic passes',
                'ordering': ('name',),
            },
        ),
    ]
