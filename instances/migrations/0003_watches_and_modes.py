"""The wait list, and quotes in every billing mode."""

import common.clock
import common.ids
import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0002_data_due'),
        ('marketplace', '0003_trust_and_search'),
        ('storage', '0002_official_image'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL("CREATE SEQUENCE instances_watch_place", "DROP SEQUENCE instances_watch_place"),
        migrations.CreateModel(
            name='Watch',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('place', models.BigIntegerField(db_default=models.Func(models.Value('instances_watch_place'), function='nextval'), editable=False, help_text='From a sequence: the order of the wait list.', unique=True)),
                ('line', models.CharField(help_text='In the grammar of the search box.', max_length=500, verbose_name='search')),
                ('action', models.CharField(choices=[('tell', 'tell me'), ('rent', 'rent for me')], default='tell', max_length=6, verbose_name='action')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('told', 'told'), ('rented', 'rented'), ('failed', 'failed'), ('expired', 'expired'), ('cancelled', 'cancelled')], default='waiting', max_length=9, verbose_name='state')),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('gpu_count', models.PositiveIntegerField(default=1)),
                ('max_price_micros', models.BigIntegerField(blank=True, help_text='Per GPU and hour, disk included.', null=True)),
                ('data_disk_gb', models.PositiveIntegerField(default=0)),
                ('ssh_key_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, help_text='Empty: all keys of the renter.', null=True, size=None)),
                ('name', models.CharField(blank=True, max_length=80, verbose_name='name')),
                ('detail', models.CharField(blank=True, help_text='Why it failed: a code of `instances.notices`.', max_length=300)),
                ('language', models.CharField(default='en', help_text='In which its user is written to.', max_length=10)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('expires_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('mailed_at', models.DateTimeField(blank=True, help_text='When its user was written to about its end.', null=True)),
            ],
            options={
                'verbose_name': 'place in the wait list',
                'verbose_name_plural': 'wait list',
                'ordering': ('place',),
            },
        ),
        migrations.RemoveConstraint(
            model_name='quote',
            name='quote_mode',
        ),
        migrations.AddField(
            model_name='quote',
            name='max_price_micros',
            field=models.BigIntegerField(blank=True, help_text='Of a spot quote: per GPU and hour.', null=True),
        ),
        migrations.AddField(
            model_name='quote',
            name='payment',
            field=models.CharField(blank=True, help_text='Of a reserved quote: upfront or none.', max_length=8),
        ),
        migrations.AddField(
            model_name='quote',
            name='term',
            field=models.CharField(blank=True, help_text='Of a reserved quote: day, week, month, year, year3.', max_length=6),
        ),
        migrations.AddConstraint(
            model_name='quote',
            constraint=models.CheckConstraint(condition=models.Q(('billing_mode__in', ['hourly', 'reserved', 'tiered', 'spot'])), name='quote_mode'),
        ),
        migrations.AddField(
            model_name='watch',
            name='image',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='storage.image'),
        ),
        migrations.AddField(
            model_name='watch',
            name='instance',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='watch', to='instances.instance'),
        ),
        migrations.AddField(
            model_name='watch',
            name='offer',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='marketplace.offer'),
        ),
        migrations.AddField(
            model_name='watch',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watches', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='watch',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['place'], name='watch_waiting'),
        ),
        migrations.AddIndex(
            model_name='watch',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['expires_at'], name='watch_to_expire'),
        ),
        migrations.AddConstraint(
            model_name='watch',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'told', 'rented', 'failed', 'expired', 'cancelled'])), name='watch_state'),
        ),
        migrations.AddConstraint(
            model_name='watch',
            constraint=models.CheckConstraint(condition=models.Q(('gpu_count__gt', 0)), name='watch_has_gpus'),
        ),
        migrations.AddIndex(
            model_name='watch',
            index=models.Index(condition=models.Q(('mailed_at__isnull', True), ('state__in', ['told', 'rented', 'failed', 'expired'])), fields=['ended_at'], name='watch_to_mail'),
        ),
        migrations.AddConstraint(
            model_name='watch',
            constraint=models.CheckConstraint(condition=models.Q(('action', 'tell'), models.Q(('image__isnull', False), ('max_price_micros__gt', 0)), _connector='OR'), name='watch_can_order'),
        ),
        migrations.AddConstraint(
            model_name='watch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='watch_ended_when_not_waiting'),
        ),
        migrations.AddConstraint(
            model_name='watch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('instance__isnull', False), ('state', 'rented')), models.Q(models.Q(('state', 'rented'), _negated=True), ('instance__isnull', True)), _connector='OR'), name='watch_rented_has_its_instance'),
        ),
        migrations.AddField(
            model_name='quote',
            name='committed_micros',
            field=models.BigIntegerField(blank=True, help_text='Of a reserved quote: what its GPUs cost through the whole term, used or not.', null=True),
        ),
    ]
