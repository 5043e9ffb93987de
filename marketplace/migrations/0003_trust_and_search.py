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

# Deleted rows cannot be asked for by their stamp: each leaves a line behind (id NULL: all of them are gone).
GONE = """
CREATE TABLE marketplace_offer_gone (id uuid, changed_xid bigint NOT NULL);
CREATE INDEX offer_gone_by_change ON marketplace_offer_gone (changed_xid);
CREATE FUNCTION marketplace_note_gone_offer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO marketplace_offer_gone VALUES (
        CASE WHEN TG_OP = 'DELETE' THEN OLD.id END, pg_current_xact_id()::text::bigint
    );
    RETURN NULL;
END $$;
CREATE TRIGGER note_gone_offer AFTER DELETE ON marketplace_offer
    FOR EACH ROW EXECUTE FUNCTION marketplace_note_gone_offer();
CREATE TRIGGER note_gone_offers AFTER TRUNCATE ON marketplace_offer
    FOR EACH STATEMENT EXECUTE FUNCTION marketplace_note_gone_offer();
"""
UNGONE = """
DROP TRIGGER note_gone_offers ON marketplace_offer;
DROP TRIGGER note_gone_offer ON marketplace_offer;
DROP FUNCTION marketplace_note_gone_offer();
DROP TABLE marketplace_offer_gone;
"""

# What a copy in memory asks at each search, planned once per connection. STABLE: every part of it sees the same snapshot.
# `since` is the first transaction that the copy has not seen, `running` those below it that were running at its last look.
# A plan for any argument would read the table, since most rows may carry one number (a bulk load): the index is enforced.
# Rows of a restored dump carry numbers of another server; what lies ahead of this one's clock has not happened here.
LOOK = """
CREATE FUNCTION marketplace_look_at_offers(
    since bigint, running bigint[], OUT snapshot text, OUT own bigint, OUT server text, OUT changed boolean, OUT gone boolean
) LANGUAGE plpgsql STABLE SET enable_seqscan TO off AS $$
DECLARE
    seen pg_snapshot := pg_current_snapshot();
    ahead bigint := pg_snapshot_xmax(seen)::text::bigint;
BEGIN
    snapshot := seen;
    own := pg_current_xact_id_if_assigned()::text::bigint;
    server := current_database() || ' ' || pg_postmaster_start_time();
    changed := EXISTS (SELECT FROM marketplace_offer o WHERE o.changed_xid >= since AND o.changed_xid < ahead);
    gone := EXISTS (SELECT FROM marketplace_offer_gone o WHERE o.changed_xid >= since AND o.changed_xid < ahead);
    IF own IS NOT NULL OR cardinality(running) > 0 THEN
        running := running || own;
        changed := changed OR EXISTS (SELECT FROM marketplace_offer o WHERE o.changed_xid = ANY (running));
        gone := gone OR EXISTS (SELECT FROM marketplace_offer_gone o WHERE o.changed_xid = ANY (running));
    END IF;
END $$;
"""
UNLOOK = """
DROP FUNCTION marketplace_look_at_offers(bigint, bigint[]);
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
                ('announced_at', models.DateTimeField(default=common.clock.now, verbose_name='announced')),
                ('starts_at', models.DateTimeField(verbose_name='from')),
                ('ends_at', models.DateTimeField(verbose_name='until')),
                ('cancelled_at', models.DateTimeField(blank=True, null=True, verbose_name='called off')),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('over_at', models.DateTimeField(blank=True, null=True)),
                ('drained', models.BooleanField(default=False, help_text='New rents were stopped for it, and come back at its end.')),
                ('told_at', models.DateTimeField(blank=True, help_text='When the renters there were told; empty: to be told.', null=True)),
            ],
            options={
                'verbose_name': 'maintenance',
                'verbose_name_plural': 'maintenance',
                'ordering': ('starts_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Measurement',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('disk', 'disk'), ('network', 'network')], max_length=7)),
                ('stamp', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('in_mbps', models.PositiveIntegerField(help_text='Disk: read, MB/s. Network: down, Mbit/s.')),
                ('out_mbps', models.PositiveIntegerField(help_text='Disk: written, MB/s. Network: up, Mbit/s.')),
            ],
            options={
                'ordering': ('-at', '-id'),
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
                ('kind', models.CharField(choices=[('started', 'start'), ('outage', 'outage'), ('failed_start', 'failed start'), ('host_fault', 'host fault')], max_length=14, verbose_name='kind')),
                ('subject', models.UUIDField(blank=True, help_text='The run that it hit, opaque here.', null=True)),
                ('starts_at', models.DateTimeField(verbose_name='from')),
                ('ends_at', models.DateTimeField(blank=True, null=True, verbose_name='until')),
                ('detail', models.CharField(blank=True, help_text="Public: a failure's code, never a renter's words.", max_length=300, verbose_name='detail')),
            ],
            options={
                'verbose_name': 'reliability event',
                'verbose_name_plural': 'reliability ledger',
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
                ('simulated', models.BooleanField(default=False, help_text='Some of it was made up, not measured.', verbose_name='simulated')),
                ('hardware', models.CharField(blank=True, help_text='Digest of the GPUs and the driver that it tested.', max_length=64)),
                ('seconds', models.FloatField(default=0)),
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
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='maintenances', to='marketplace.host', verbose_name='host'),
        ),
        migrations.AddField(
            model_name='offerprice',
            name='offer',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='price_history', to='marketplace.offer'),
        ),
        migrations.AddField(
            model_name='reliabilityevent',
            name='host',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reliability_events', to='marketplace.host', verbose_name='host'),
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
            constraint=models.UniqueConstraint(condition=models.Q(('subject__isnull', False)), fields=('host', 'kind', 'subject'), name='one_reliability_event_per_subject'),
        ),
        migrations.AddConstraint(
            model_name='reliabilityevent',
            constraint=models.CheckConstraint(condition=models.Q(('ends_at__isnull', True), ('ends_at__gte', models.F('starts_at')), _connector='OR'), name='reliability_event_ends_after_start'),
        ),
        migrations.AddIndex(
            model_name='reliabilityevent',
            index=models.Index(fields=['starts_at'], name='reliability_by_start'),
        ),
        migrations.AddIndex(
            model_name='reliabilityevent',
            index=models.Index(condition=models.Q(('kind', 'outage')), fields=['ends_at'], name='outage_by_end'),
        ),
        migrations.AddConstraint(
            model_name='savedsearch',
            constraint=models.UniqueConstraint(fields=('user', 'name'), name='one_saved_search_per_name'),
        ),
        migrations.AddConstraint(
            model_name='selftest',
            constraint=models.UniqueConstraint(condition=models.Q(('verdict', 'pending')), fields=('host',), name='one_pending_self_test_per_host'),
        ),
        migrations.AddIndex(
            model_name='selftest',
            index=models.Index(fields=['host', '-asked_at'], name='self_test_of_host'),
        ),
        migrations.AddField(
            model_name='measurement',
            name='host',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='measurements', to='marketplace.host'),
        ),
        migrations.AddConstraint(
            model_name='measurement',
            constraint=models.UniqueConstraint(fields=('host', 'kind', 'stamp'), name='one_measurement_per_moment'),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_measured_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='disk_samples',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='offer',
            name='net_measured_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='net_samples',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='lease',
            name='promised_until',
            field=models.DateTimeField(blank=True, help_text='The end that the host had named when it was leased; it may move only later.', null=True),
        ),
        migrations.RunSQL(STAMP, UNSTAMP),
        migrations.RunSQL(GONE, UNGONE),
        migrations.RunSQL(LOOK, UNLOOK),
    ]
