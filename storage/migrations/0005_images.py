"""Images by name, from private registries, saved and shared."""

import common.clock
import common.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0004_spot_market'),
        ('storage', '0004_data'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='image',
            name='architectures',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name='image',
            name='checked_at',
            field=models.DateTimeField(blank=True, help_text='When its registry was last asked about the name.', null=True),
        ),
        migrations.AddField(
            model_name='image',
            name='digest',
            field=models.CharField(blank=True, max_length=80),
        ),
        migrations.AddField(
            model_name='image',
            name='failure',
            field=models.CharField(blank=True, max_length=300),
        ),
        migrations.AddField(
            model_name='image',
            name='generation',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='image',
            name='has_ssh',
            field=models.BooleanField(default=True, help_text='It starts an SSH server of its own.'),
        ),
        migrations.AddField(
            model_name='image',
            name='host',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='marketplace.host'),
        ),
        migrations.AddField(
            model_name='image',
            name='named_as',
            field=models.CharField(blank=True, help_text='The name and tag that its owner gave.', max_length=300),
        ),
        migrations.AddField(
            model_name='image',
            name='owner',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='images', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='image',
            name='private',
            field=models.BooleanField(default=False, help_text='Only a login reads it.'),
        ),
        migrations.AddField(
            model_name='image',
            name='saved_from',
            field=models.UUIDField(blank=True, help_text='The instance that it was saved from.', null=True),
        ),
        migrations.AddField(
            model_name='image',
            name='shared_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='image',
            name='size_bytes',
            field=models.BigIntegerField(default=0, help_text='Compressed, as it is pulled; 0: not known.'),
        ),
        migrations.AddField(
            model_name='image',
            name='source',
            field=models.CharField(choices=[('official', 'official'), ('named', 'by name'), ('saved', 'saved from an instance')], default='official', max_length=8),
        ),
        migrations.AddField(
            model_name='image',
            name='state',
            field=models.CharField(choices=[('saving', 'being saved'), ('ready', 'ready'), ('failed', 'failed'), ('dropping', 'being deleted'), ('gone', 'deleted')], default='ready', max_length=8, verbose_name='state'),
        ),
        migrations.AddField(
            model_name='image',
            name='use_count',
            field=models.PositiveIntegerField(default=0, help_text='Instances rented with it; counted by a sweep.'),
        ),
        migrations.AddField(
            model_name='image',
            name='version',
            field=models.PositiveIntegerField(default=0, help_text='Among the versions of what it is shared as.'),
        ),
        migrations.AlterField(
            model_name='image',
            name='reference',
            field=models.CharField(help_text='What the container engine calls it.', max_length=400),
        ),
        migrations.CreateModel(
            name='ImagePull',
            fields=[
                ('instance_id', models.UUIDField(primary_key=True, serialize=False)),
                ('done_bytes', models.BigIntegerField()),
                ('total_bytes', models.BigIntegerField()),
                ('layers', models.JSONField(help_text='[[id, bytes there, bytes in all, what is done with it], …]')),
                ('at', models.DateTimeField()),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='marketplace.host')),
            ],
        ),
        migrations.CreateModel(
            name='Registry',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('host', models.CharField(max_length=200, verbose_name='registry')),
                ('username', models.CharField(max_length=200, verbose_name='user name')),
                ('sealed_password', models.TextField(help_text='Encrypted: see common/sealing.py.')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('checked_at', models.DateTimeField(help_text='When the registry last took this login.')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='registries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'registry',
                'verbose_name_plural': 'registries',
                'ordering': ('host',),
            },
        ),
        migrations.AddField(
            model_name='image',
            name='registry',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='images', to='storage.registry'),
        ),
        migrations.CreateModel(
            name='SharedImage',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('title', models.CharField(max_length=120, verbose_name='title')),
                ('description', models.CharField(blank=True, max_length=1000, verbose_name='description')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='shared_images', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'community image',
                'verbose_name_plural': 'community images',
                'ordering': ('slug',),
            },
        ),
        migrations.AddField(
            model_name='image',
            name='shared',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='versions', to='storage.sharedimage'),
        ),
        migrations.AddIndex(
            model_name='image',
            index=models.Index(condition=models.Q(('state__in', ['saving', 'dropping'])), fields=['state'], name='image_under_way'),
        ),
        migrations.AddConstraint(
            model_name='image',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['saving', 'ready', 'failed', 'dropping', 'gone'])), name='image_state'),
        ),
        migrations.AddConstraint(
            model_name='image',
            constraint=models.CheckConstraint(condition=models.Q(('source', 'official'), ('owner__isnull', False), _connector='OR'), name='image_has_owner'),
        ),
        migrations.AddConstraint(
            model_name='image',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'gone'), _negated=True), fields=('owner', 'reference', 'named_as'), name='one_image_per_reference', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='image',
            constraint=models.UniqueConstraint(condition=models.Q(('shared__isnull', False)), fields=('shared', 'version'), name='one_image_per_version'),
        ),
        migrations.AddIndex(
            model_name='imagepull',
            index=models.Index(fields=['at'], name='image_pull_age'),
        ),
        migrations.AddConstraint(
            model_name='registry',
            constraint=models.UniqueConstraint(fields=('owner', 'host'), name='one_login_per_registry'),
        ),
    ]
