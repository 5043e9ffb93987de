"""Volumes, snapshots, public data sets, and how full disks are."""

import common.clock
import common.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0004_spot_market'),
        ('storage', '0003_operations'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('source_kind', models.CharField(choices=[('volume', 'volume'), ('disk', 'data disk')], max_length=6, verbose_name='copy of')),
                ('source_id', models.UUIDField(help_text='The volume, or the instance whose data disk it is a copy of.')),
                ('source_name', models.CharField(max_length=80)),
                ('size_gb', models.PositiveIntegerField(help_text='Of the disk; a volume made from it is at least as large.')),
                ('micros_gb_day', models.BigIntegerField(help_text='Frozen at the order.')),
                ('stored_bytes', models.BigIntegerField(default=0, help_text='What it takes on the host, and is charged for.')),
                ('checksum', models.CharField(blank=True, max_length=64)),
                ('state', models.CharField(choices=[('creating', 'being made'), ('ready', 'ready'), ('failed', 'failed'), ('deleting', 'being deleted'), ('gone', 'deleted')], default='creating', max_length=8, verbose_name='state')),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('failure_code', models.CharField(blank=True, max_length=40)),
                ('failure_detail', models.CharField(blank=True, max_length=300)),
                ('unpaid_since', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('ready_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to='marketplace.host')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'snapshot',
                'verbose_name_plural': 'snapshots',
                'ordering': ('-created_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='DataSet',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('slug', models.SlugField(help_text='Found at /pub/<short name>.', max_length=40, unique=True, verbose_name='short name')),
                ('title', models.CharField(max_length=120, verbose_name='title')),
                ('description', models.TextField(blank=True, max_length=2000, verbose_name='description')),
                ('licence', models.CharField(blank=True, max_length=120, verbose_name='licence')),
                ('published_at', models.DateTimeField(default=common.clock.now)),
                ('active', models.BooleanField(default=True, help_text='Off: nothing new may mount it.', verbose_name='listed')),
                ('published_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('snapshot', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='data_set', to='storage.snapshot')),
            ],
            options={
                'verbose_name': 'public data set',
                'verbose_name_plural': 'public data sets',
                'ordering': ('title', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Volume',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(help_text='Found at /mnt/<name> in an instance.', max_length=40, verbose_name='name')),
                ('size_gb', models.PositiveIntegerField(verbose_name='size in GB')),
                ('micros_per_day', models.BigIntegerField(help_text='Of the whole volume; frozen at the order.')),
                ('state', models.CharField(choices=[('creating', 'being made'), ('ready', 'ready'), ('restoring', 'being restored'), ('failed', 'failed'), ('deleting', 'being deleted'), ('gone', 'deleted')], default='creating', max_length=9, verbose_name='state')),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('failure_code', models.CharField(blank=True, max_length=40)),
                ('failure_detail', models.CharField(blank=True, max_length=300)),
                ('unpaid_since', models.DateTimeField(blank=True, help_text='Nobody pays for it; deleted after the retention.', null=True)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='volumes', to='marketplace.host')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='volumes', to=settings.AUTH_USER_MODEL)),
                ('snapshot', models.ForeignKey(blank=True, help_text='What it began as.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='storage.snapshot')),
            ],
            options={
                'verbose_name': 'volume',
                'verbose_name_plural': 'volumes',
                'ordering': ('-created_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('holder', models.UUIDField()),
                ('attached_at', models.DateTimeField(default=common.clock.now)),
                ('detached_at', models.DateTimeField(blank=True, null=True)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='marketplace.host')),
                ('data_set', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attachments', to='storage.dataset')),
                ('volume', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attachments', to='storage.volume')),
            ],
        ),
        migrations.CreateModel(
            name='DiskUse',
            fields=[
                ('subject', models.UUIDField(primary_key=True, serialize=False)),
                ('used_mb', models.BigIntegerField()),
                ('total_mb', models.BigIntegerField()),
                ('inodes_used', models.BigIntegerField()),
                ('inodes_total', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='marketplace.host')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('inodes_used__gte', 0), ('used_mb__gte', 0)), name='disk_use_not_negative'), models.CheckConstraint(condition=models.Q(('inodes_total__gte', models.F('inodes_used')), ('total_mb__gte', models.F('used_mb'))), name='disk_use_within')],
            },
        ),
        migrations.AddIndex(
            model_name='snapshot',
            index=models.Index(condition=models.Q(('state', 'gone'), _negated=True), fields=['owner', '-created_at'], name='snapshot_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['creating', 'ready', 'failed', 'deleting', 'gone'])), name='snapshot_state'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'ready'), _negated=True), models.Q(('checksum', ''), _negated=True), _connector='OR'), name='snapshot_whole_when_ready'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('deleted_at__isnull', False), ('state', 'gone')), models.Q(models.Q(('state', 'gone'), _negated=True), ('deleted_at__isnull', True)), _connector='OR'), name='snapshot_deleted_when_gone'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'creating')), fields=('source_id',), name='one_snapshot_at_a_time_per_disk'),
        ),
        migrations.AddIndex(
            model_name='volume',
            index=models.Index(condition=models.Q(('state', 'gone'), _negated=True), fields=['host'], name='volume_on_host'),
        ),
        migrations.AddIndex(
            model_name='volume',
            index=models.Index(condition=models.Q(('state', 'gone'), _negated=True), fields=['owner', '-created_at'], name='volume_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='volume',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['creating', 'ready', 'restoring', 'failed', 'deleting', 'gone'])), name='volume_state'),
        ),
        migrations.AddConstraint(
            model_name='volume',
            constraint=models.CheckConstraint(condition=models.Q(('size_gb__gt', 0)), name='volume_has_size'),
        ),
        migrations.AddConstraint(
            model_name='volume',
            constraint=models.CheckConstraint(condition=models.Q(('micros_per_day__gte', 0)), name='volume_price_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='volume',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('deleted_at__isnull', False), ('state', 'gone')), models.Q(models.Q(('state', 'gone'), _negated=True), ('deleted_at__isnull', True)), _connector='OR'), name='volume_deleted_when_gone'),
        ),
        migrations.AddConstraint(
            model_name='volume',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'gone'), _negated=True), fields=('owner', 'name'), name='one_volume_per_name'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(condition=models.Q(('detached_at__isnull', True)), fields=['host'], name='attachment_on_host'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(condition=models.Q(('detached_at__isnull', True)), fields=['holder'], name='attachment_of_holder'),
        ),
        migrations.AddConstraint(
            model_name='attachment',
            constraint=models.CheckConstraint(condition=models.Q(('volume__isnull', True), ('data_set__isnull', True), _connector='XOR'), name='attachment_of_one_thing'),
        ),
        migrations.AddConstraint(
            model_name='attachment',
            constraint=models.UniqueConstraint(condition=models.Q(('detached_at__isnull', True)), fields=('volume',), name='one_writer_per_volume'),
        ),
        migrations.AddConstraint(
            model_name='attachment',
            constraint=models.UniqueConstraint(condition=models.Q(('detached_at__isnull', True)), fields=('holder', 'data_set'), name='one_mount_per_data_set'),
        ),
    ]
