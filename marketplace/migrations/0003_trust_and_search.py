"""Facts of hosts in offers, prices in every mode, self-tests, maintenance, the reliability ledger, saved searches."""

import common.clock
import common.ids
import django.db.models.deletion
import marketplace.models.offers
from django.conf import settings
from django.db import migrations, models


# A copy of the table in memory asks for the rows written by transactions that it has not seen. No writer can forget it.
STAMP = """
CREATE FUNCTION marketplace_stamp_offer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_xid := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END $$;
CREATE TRIGGER stamp_offer BEFORE INSERT OR UPDATE ON marketplace_offer
    FOR EACH ROW EXECUTE FUNCTION marketplace_stamp_offer();
"""
UNSTAMP = """
DROP TRIGGER stamp_offer ON marketplace_offer;
DROP FUNCTION marketplace_stamp_offer();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0002_search_and_shares'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Maintenance',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('category', models.CharField(choices=[('power', 'power'), ('internet', 'internet'), ('disk', 'disk'), ('gpu', 'GPU'), ('software', 'software'), ('other', 'other')], max_length=10, verbose_name='category')),
                ('detail', models.CharField(blank=True, max_length=300, verbose_name='detail')),
                ('announced_at', models.DateTimeField(default=common.clock.now)),
                ('starts_at', models.DateTimeField(verbose_name='from')),
                ('ends_at', models.DateTimeField(verbose_name='until')),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ('starts_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='OfferPrice',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(default=common.clock.now)),
                ('price_micros', models.BigIntegerField()),
                ('spot_floor_micros', models.BigIntegerField(blank=True, null=True)),
            ],
            options={
                'ordering': ('at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='ReliabilityEvent',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('outage', 'outage'), ('failed_start', 'failed start'), ('host_fault', 'host fault')], max_length=14)),
                ('subject', models.UUIDField(blank=True, help_text='The holder that it hit, opaque here.', null=True)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField(blank=True, null=True)),
                ('detail', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'ordering': ('-starts_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='SavedSearch',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('line', models.CharField(help_text='In the grammar of the search box.', max_length=500, verbose_name='search')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
            ],
            options={
                'ordering': ('name', 'id'),
            },
        ),
        migrations.CreateModel(
            name='SelfTest',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('asked_at', models.DateTimeField(default=common.clock.now)),
                ('asked_by', models.CharField(max_length=80)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('verdict', models.CharField(choices=[('pending', 'pending'), ('passed', 'passed'), ('failed', 'failed'), ('expired', 'expired')], default='pending', max_length=10, verbose_name='verdict')),
                ('checks', models.JSONField(default=list)),
                ('agent_version', models.CharField(blank=True, max_length=20)),
            ],
            options={
                'ordering': ('-asked_at', '-id'),
            },
        ),
        migrations.RemoveIndex(
            model_name='offer',
            name='offer_open_by_price',
        ),
        migrations.RemoveIndex(
            model_name='offer',
            name='offer_open_by_model',
        ),
        migrations.RemoveIndex(
            model_name='offer',
            name='offer_open_by_region',
        ),
        migrations.RemoveField(
            model_name='host',
            name='verified',
        ),
        migrations.AddField(
            model_name='host',
            name='disk_measured_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='disk_read_mbps',
            field=models.PositiveIntegerField(blank=True, help_text='Median of the measurements, in MB/s.', null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='disk_samples',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='host',
            name='disk_write_mbps',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='listed_until',
            field=models.DateTimeField(blank=True, help_text='No lease is promised beyond this; empty: no end is planned.', null=True, verbose_name='rentable until'),
        ),
        migrations.AddField(
            model_name='host',
            name='net_down_mbps',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='net_measured_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='net_samples',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='host',
            name='net_up_mbps',
            field=models.PositiveIntegerField(blank=True, help_text='Against the control plane, in Mbit/s.', null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='nvlink',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='host',
            name='reliability_ppm',
            field=models.PositiveIntegerField(blank=True, help_text='Millionths, from the public ledger of events; empty: too little is known.', null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='verification',
            field=models.CharField(choices=[('unverified', 'unverified'), ('verified', 'verified'), ('lapsed', 'lapsed'), ('refused', 'refused')], default='unverified', max_length=10, verbose_name='verification'),
        ),
        migrations.AddField(
            model_name='host',
            name='verified_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='changed_xid',
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name='offer',
            name='cpu_model',
            field=models.CharField(blank=True, default='', max_length=120),
        ),
        migrations.AddField(
            model_name='offer',
            name='cuda',
            field=models.CharField(blank=True, default='', max_length=10),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_free_gb',
            field=models.PositiveIntegerField(default=0, help_text='Rounded down to tens: it changes with every file.'),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_kind',
            field=models.CharField(default='unknown', max_length=10),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_micros_gb_day',
            field=models.BigIntegerField(default=0, help_text='Micro-units per GB above the free quota and day.'),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_read_mbps',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_write_mbps',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='draining',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='offer',
            name='driver',
            field=models.CharField(blank=True, default='', max_length=40),
        ),
        migrations.AddField(
            model_name='offer',
            name='host_name',
            field=models.CharField(default='', max_length=80),
        ),
        migrations.AddField(
            model_name='offer',
            name='host_state',
            field=models.CharField(default='online', max_length=10),
        ),
        migrations.AddField(
            model_name='offer',
            name='listed_until',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='net_down_mbps',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='net_up_mbps',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='nvlink',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='offer',
            name='pcie_gen',
            field=models.PositiveIntegerField(default=0, help_text='The least of its GPUs.'),
        ),
        migrations.AddField(
            model_name='offer',
            name='pcie_width',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='offer',
            name='reliability_ppm',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='reserved_discounts',
            field=models.JSONField(blank=True, default=dict, help_text='Basis points off by term, such as {"month": 2000}; a term not named is not sold.'),
        ),
        migrations.AddField(
            model_name='offer',
            name='spot_floor_micros',
            field=models.BigIntegerField(blank=True, help_text='Per GPU and hour; empty: no spot market.', null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='tiers',
            field=models.JSONField(blank=True, default=marketplace.models.offers.default_tiers, help_text='[[hours of continuous use, basis points off], …], rising.'),
        ),
        migrations.AddField(
            model_name='offer',
            name='verified',
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name='offer',
            index=models.Index(fields=['changed_xid'], name='offer_by_change'),
        ),
        migrations.AddConstraint(
            model_name='offer',
            constraint=models.CheckConstraint(condition=models.Q(('spot_floor_micros__isnull', True), ('spot_floor_micros__gte', 0), _connector='OR'), name='offer_spot_floor_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='offer',
            constraint=models.CheckConstraint(condition=models.Q(('disk_micros_gb_day__gte', 0)), name='offer_disk_price_not_negative'),
        ),
        migrations.AddField(
            model_name='maintenance',
            name='host',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='maintenances', to='marketplace.host'),
        ),
        migrations.AddField(
            model_name='offerprice',
            name='offer',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='price_history', to='marketplace.offer'),
        ),
        migrations.AddField(
            model_name='reliabilityevent',
            name='host',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reliability_events', to='marketplace.host'),
        ),
        migrations.AddField(
            model_name='reliabilityevent',
            name='maintenance',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='marketplace.maintenance'),
        ),
        migrations.AddField(
            model_name='savedsearch',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_searches', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='selftest',
            name='host',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='self_tests', to='marketplace.host'),
        ),
        migrations.AddConstraint(
            model_name='maintenance',
            constraint=models.CheckConstraint(condition=models.Q(('ends_at__gt', models.F('starts_at'))), name='maintenance_ends_after_start'),
        ),
        migrations.AddIndex(
            model_name='offerprice',
            index=models.Index(fields=['offer', 'at'], name='price_of_offer'),
        ),
        migrations.AddIndex(
            model_name='reliabilityevent',
            index=models.Index(fields=['host', '-starts_at'], name='reliability_of_host'),
        ),
        migrations.AddConstraint(
            model_name='reliabilityevent',
            constraint=models.UniqueConstraint(condition=models.Q(('ends_at__isnull', True), ('kind', 'outage')), fields=('host',), name='one_open_outage_per_host'),
        ),
        migrations.AddConstraint(
            model_name='reliabilityevent',
            constraint=models.UniqueConstraint(condition=models.Q(('subject__isnull', False)), fields=('host', 'kind', 'subject', 'starts_at'), name='one_reliability_event_per_subject_and_moment'),
        ),
        migrations.AddConstraint(
            model_name='savedsearch',
            constraint=models.UniqueConstraint(fields=('user', 'name'), name='one_saved_search_per_name'),
        ),
        migrations.AddConstraint(
            model_name='selftest',
            constraint=models.UniqueConstraint(condition=models.Q(('verdict', 'pending')), fields=('host',), name='one_pending_self_test_per_host'),
        ),
        migrations.RunSQL(STAMP, UNSTAMP),
    ]
