"""Rollups of use, traces of seconds, alerts."""

import common.clock
import common.ids
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0007_access'),
    ]

    operations = [
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('gpu_idle', 'GPUs idle'), ('disk_full', 'data disk nearly full'), ('inodes_full', 'data disk nearly out of file entries'), ('memory_high', 'memory nearly full'), ('out_of_memory', 'a program was ended for lack of memory'), ('gpu_fault', 'GPU fault')], max_length=13)),
                ('key', models.CharField(blank=True, max_length=80)),
                ('fault_of', models.CharField(blank=True, max_length=10)),
                ('facts', models.JSONField(default=dict)),
                ('raised_at', models.DateTimeField(default=common.clock.now)),
                ('seen_at', models.DateTimeField(default=common.clock.now, help_text='When it was last found to be so.')),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('resolution', models.CharField(blank=True, help_text='over, renter, ended', max_length=8)),
                ('claimed_at', models.DateTimeField(blank=True, null=True)),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name': 'alert',
                'verbose_name_plural': 'alerts',
                'ordering': ('-raised_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='AlertMute',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('gpu_idle', 'GPUs idle'), ('disk_full', 'data disk nearly full'), ('inodes_full', 'data disk nearly out of file entries'), ('memory_high', 'memory nearly full'), ('out_of_memory', 'a program was ended for lack of memory'), ('gpu_fault', 'GPU fault')], max_length=13)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
            ],
        ),
        migrations.CreateModel(
            name='InstanceTrace',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('values', models.JSONField(help_text='Metric → one number a second.')),
            ],
        ),
        migrations.CreateModel(
            name='InstanceUsage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('grain', models.CharField(choices=[('minute', 'minute'), ('hour', 'hour'), ('day', 'day')], max_length=6)),
                ('at', models.DateTimeField(help_text='When it begins.')),
                ('samples', models.PositiveIntegerField()),
                ('cpu_pct', models.FloatField()),
                ('ram_mb', models.FloatField()),
                ('ram_max_mb', models.PositiveIntegerField()),
                ('disk_mb', models.PositiveIntegerField()),
                ('rx_bytes', models.BigIntegerField()),
                ('tx_bytes', models.BigIntegerField()),
                ('gpu_util_pct', models.FloatField()),
                ('gpu_util_max_pct', models.FloatField()),
                ('vram_used_mb', models.FloatField()),
                ('vram_max_mb', models.PositiveIntegerField()),
                ('power_w', models.FloatField()),
                ('temperature_c', models.PositiveSmallIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name='instancesample',
            name='gpus',
            field=models.JSONField(blank=True, default=list, help_text='[[UUID, percent, MiB, °C, W], …]'),
        ),
        migrations.AddField(
            model_name='instancesample',
            name='oom_kills',
            field=models.PositiveIntegerField(default=0, help_text='Programs ended for lack of memory since its start.'),
        ),
        migrations.AddField(
            model_name='instancesample',
            name='power_w',
            field=models.PositiveIntegerField(default=0, help_text="Sum over the instance's GPUs."),
        ),
        migrations.AddField(
            model_name='instancesample',
            name='temperature_c',
            field=models.PositiveSmallIntegerField(default=0, help_text='Of the hottest GPU.'),
        ),
        migrations.AddIndex(
            model_name='instancesample',
            index=django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='sample_age'),
        ),
        migrations.AddField(
            model_name='alert',
            name='instance',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='instances.instance'),
        ),
        migrations.AddField(
            model_name='alertmute',
            name='instance',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alert_mutes', to='instances.instance'),
        ),
        migrations.AddField(
            model_name='instancetrace',
            name='instance',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='traces', to='instances.instance'),
        ),
        migrations.AddField(
            model_name='instanceusage',
            name='instance',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='usage', to='instances.instance'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['kind', 'seen_at'], name='alert_open'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('mailed_at__isnull', True)), fields=['raised_at'], name='alert_to_mail'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('resolved_at__isnull', True)), fields=('instance', 'kind', 'key'), name='one_open_alert_of_a_kind'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('resolution', ''), ('resolved_at__isnull', True)), models.Q(('resolved_at__isnull', False), models.Q(('resolution', ''), _negated=True)), _connector='OR'), name='alert_resolved_somehow'),
        ),
        migrations.AddConstraint(
            model_name='alertmute',
            constraint=models.UniqueConstraint(fields=('instance', 'kind'), name='one_mute_of_a_kind'),
        ),
        migrations.AddIndex(
            model_name='instancetrace',
            index=models.Index(fields=['instance', 'at'], name='trace_of_instance'),
        ),
        migrations.AddIndex(
            model_name='instancetrace',
            index=django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='trace_age'),
        ),
        migrations.AddIndex(
            model_name='instanceusage',
            index=models.Index(fields=['grain', 'at'], name='usage_age'),
        ),
        migrations.AddConstraint(
            model_name='instanceusage',
            constraint=models.UniqueConstraint(fields=('instance', 'grain', 'at'), name='one_usage_per_instance_and_time'),
        ),
        migrations.AddConstraint(
            model_name='instanceusage',
            constraint=models.CheckConstraint(condition=models.Q(('grain__in', ['minute', 'hour', 'day'])), name='usage_grain'),
        ),
    ]
