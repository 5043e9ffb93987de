"""Hosts, GPUs, offers, leases, prices, self-tests, maintenance, reliability, searches, claims."""

import common.clock
import common.ids
import django.contrib.postgres.fields
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

    initial = True

    dependencies = [
        ('accounts', '0001_squashed_0004_webhooks'),
    ]

    operations = [
        migrations.CreateModel(
            name='Host',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('region', models.CharField(max_length=40, verbose_name='region')),
                ('state', models.CharField(choices=[('online', 'online'), ('silent', 'silent'), ('frozen', 'frozen'), ('retired', 'retired')], default='online', max_length=10, verbose_name='state')),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('verification', models.CharField(choices=[('unverified', 'unverified'), ('verified', 'verified'), ('lapsed', 'lapsed'), ('refused', 'refused')], default='unverified', max_length=10, verbose_name='verification')),
                ('verified_at', models.DateTimeField(blank=True, null=True)),
                ('draining', models.BooleanField(default=False, help_text='No new rents; running ones go on.', verbose_name='draining')),
                ('simulated', models.BooleanField(default=False, help_text='Its runtime or its GPUs are simulated.', verbose_name='simulated')),
                ('runtime', models.CharField(max_length=10, verbose_name='runtime')),
                ('runtime_version', models.CharField(blank=True, max_length=40)),
                ('address', models.CharField(help_text='Where renters reach published ports.', max_length=255, verbose_name='address')),
                ('hostname', models.CharField(blank=True, max_length=255)),
                ('kernel', models.CharField(blank=True, max_length=120)),
                ('cpu_model', models.CharField(blank=True, max_length=120, verbose_name='CPU')),
                ('cpu_cores', models.PositiveIntegerField(verbose_name='CPU cores')),
                ('ram_mb', models.PositiveIntegerField(verbose_name='RAM (MiB)')),
                ('disk_total_gb', models.PositiveIntegerField()),
                ('disk_free_gb', models.PositiveIntegerField()),
                ('disk_kind', models.CharField(default='unknown', max_length=10)),
                ('disk_read_mbps', models.PositiveIntegerField(blank=True, help_text='Median of the measurements, in MB/s.', null=True)),
                ('disk_write_mbps', models.PositiveIntegerField(blank=True, null=True)),
                ('disk_measured_at', models.DateTimeField(blank=True, null=True)),
                ('disk_samples', models.PositiveIntegerField(default=0)),
                ('net_up_mbps', models.PositiveIntegerField(blank=True, help_text='Against the control plane, in Mbit/s.', null=True)),
                ('net_down_mbps', models.PositiveIntegerField(blank=True, null=True)),
                ('net_measured_at', models.DateTimeField(blank=True, null=True)),
                ('net_samples', models.PositiveIntegerField(default=0)),
                ('nvlink', models.BooleanField(default=False)),
                ('driver', models.CharField(blank=True, max_length=40, verbose_name='driver')),
                ('cuda', models.CharField(blank=True, max_length=10)),
                ('images', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, default=list, size=None)),
                ('warnings', models.JSONField(blank=True, default=list)),
                ('port_first', models.PositiveIntegerField()),
                ('port_last', models.PositiveIntegerField()),
                ('agent_version', models.CharField(blank=True, max_length=20)),
                ('listed_until', models.DateTimeField(blank=True, help_text='No lease is promised beyond this; empty: no end is planned.', null=True, verbose_name='rentable until')),
                ('reliability_ppm', models.PositiveIntegerField(blank=True, help_text='Millionths, from the public ledger of events; empty: too little is known.', null=True)),
                ('engine_age_s', models.FloatField(default=0)),
                ('enrolled_at', models.DateTimeField(default=common.clock.now)),
                ('last_seen_at', models.DateTimeField(default=common.clock.now, verbose_name='last report')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hosts', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'host',
                'verbose_name_plural': 'hosts',
                'ordering': ('name', 'id'),
                'indexes': [models.Index(condition=models.Q(('state', 'online')), fields=['last_seen_at'], name='host_to_find_silent')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['online', 'silent', 'frozen', 'retired'])), name='host_state'), models.CheckConstraint(condition=models.Q(('port_first__lte', models.F('port_last'))), name='host_port_range')],
            },
        ),
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=40)),
                ('subject', models.CharField(max_length=120)),
                ('detail', models.TextField()),
                ('opened_at', models.DateTimeField(default=common.clock.now)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ('-id',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('kind', 'subject'), name='one_open_incident_per_subject')],
            },
        ),
        migrations.CreateModel(
            name='Offer',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('gpu_model', models.SlugField(db_index=False, max_length=60, verbose_name='GPU model')),
                ('region', models.CharField(max_length=40)),
                ('runtime', models.CharField(default='docker', max_length=10)),
                ('simulated', models.BooleanField(default=False)),
                ('host_name', models.CharField(default='', max_length=80)),
                ('host_state', models.CharField(default='online', max_length=10)),
                ('draining', models.BooleanField(default=False)),
                ('verified', models.BooleanField(default=False)),
                ('reliability_ppm', models.PositiveIntegerField(blank=True, null=True)),
                ('listed_until', models.DateTimeField(blank=True, null=True)),
                ('cpu_model', models.CharField(blank=True, default='', max_length=120)),
                ('driver', models.CharField(blank=True, default='', max_length=40)),
                ('cuda', models.CharField(blank=True, default='', max_length=10)),
                ('nvlink', models.BooleanField(default=False)),
                ('pcie_gen', models.PositiveIntegerField(default=0, help_text='The least of its GPUs.')),
                ('pcie_width', models.PositiveIntegerField(default=0)),
                ('disk_kind', models.CharField(default='unknown', max_length=10)),
                ('disk_free_gb', models.PositiveIntegerField(default=0, help_text='Rounded down to tens: it changes with every file.')),
                ('disk_read_mbps', models.PositiveIntegerField(blank=True, null=True)),
                ('disk_write_mbps', models.PositiveIntegerField(blank=True, null=True)),
                ('disk_measured_at', models.DateTimeField(blank=True, null=True)),
                ('disk_samples', models.PositiveIntegerField(default=0)),
                ('net_up_mbps', models.PositiveIntegerField(blank=True, null=True)),
                ('net_down_mbps', models.PositiveIntegerField(blank=True, null=True)),
                ('net_measured_at', models.DateTimeField(blank=True, null=True)),
                ('net_samples', models.PositiveIntegerField(default=0)),
                ('listed', models.BooleanField(default=True, verbose_name='listed')),
                ('version', models.PositiveIntegerField(default=1)),
                ('price_micros', models.BigIntegerField(help_text='Micro-units per GPU and hour.', verbose_name='price per GPU-hour')),
                ('reserved_discounts', models.JSONField(blank=True, default=dict, help_text='Basis points off by term, such as {"month": 2000}; a term not named is not sold.')),
                ('tiers', models.JSONField(blank=True, default=marketplace.models.offers.default_tiers, help_text='[[hours of continuous use, basis points off], …], rising.')),
                ('spot_floor_micros', models.BigIntegerField(blank=True, help_text='Per GPU and hour; empty: no spot market.', null=True)),
                ('spot_now_micros', models.BigIntegerField(blank=True, help_text='What spot rents pay per GPU and hour now; empty: the floor, nobody has bid more.', null=True)),
                ('hold_bps', models.PositiveIntegerField(default=5000, help_text='Of the hourly price, for GPUs that a stopped instance keeps; basis points.')),
                ('disk_micros_gb_day', models.BigIntegerField(default=0, help_text='Micro-units per GB above the free quota and day.')),
                ('gpu_total', models.PositiveIntegerField(default=0)),
                ('gpu_free', models.PositiveIntegerField(default=0)),
                ('gpu_spot', models.PositiveIntegerField(default=0, help_text='Leased to spot rents that would yield to an order now.')),
                ('vram_mb', models.PositiveIntegerField(default=0, help_text='Nominal: 24 GB is 24576, whatever the driver keeps back.')),
                ('cpu_millis_per_gpu', models.PositiveIntegerField(default=0)),
                ('ram_mb_per_gpu', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('changed_xid', models.BigIntegerField(default=0, editable=False)),
                ('host', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='marketplace.host')),
            ],
            options={
                'verbose_name': 'offer',
                'verbose_name_plural': 'offers',
                'indexes': [models.Index(fields=['changed_xid'], name='offer_by_change')],
                'constraints': [models.CheckConstraint(condition=models.Q(('price_micros__gte', 0)), name='offer_price_not_negative'), models.CheckConstraint(condition=models.Q(('gpu_free__lte', models.F('gpu_total'))), name='offer_free_at_most_total'), models.CheckConstraint(condition=models.Q(('spot_floor_micros__isnull', True), ('spot_floor_micros__gte', 0), _connector='OR'), name='offer_spot_floor_not_negative'), models.CheckConstraint(condition=models.Q(('disk_micros_gb_day__gte', 0)), name='offer_disk_price_not_negative'), models.CheckConstraint(condition=models.Q(('hold_bps__lte', 10000)), name='offer_hold_at_most_the_price'), models.UniqueConstraint(fields=('host', 'gpu_model'), name='one_offer_per_host_and_model')],
            },
        ),
        migrations.CreateModel(
            name='Gpu',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('uuid', models.CharField(max_length=80, unique=True, verbose_name='UUID')),
                ('model', models.SlugField(help_text='Slug in the catalogue.', max_length=60, verbose_name='model')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('vram_mb', models.PositiveIntegerField(verbose_name='VRAM (MiB)')),
                ('index', models.PositiveIntegerField(default=0)),
                ('pcie_gen', models.PositiveIntegerField(default=0)),
                ('pcie_width', models.PositiveIntegerField(default=0)),
                ('simulated', models.BooleanField(default=False)),
                ('healthy', models.BooleanField(default=True, verbose_name='healthy')),
                ('present', models.BooleanField(default=True, verbose_name='present')),
                ('detail', models.CharField(blank=True, max_length=300)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='gpus', to='marketplace.host')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gpus', to='marketplace.offer')),
            ],
            options={
                'verbose_name': 'GPU',
                'verbose_name_plural': 'GPUs',
                'ordering': ('host', 'index', 'id'),
            },
        ),
        migrations.CreateModel(
            name='HostEvent',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=40)),
                ('detail', models.CharField(blank=True, max_length=300)),
                ('actor', models.CharField(max_length=80)),
                ('at', models.DateTimeField(default=common.clock.now)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='marketplace.host')),
            ],
            options={
                'ordering': ('-id',),
                'indexes': [models.Index(fields=['host', '-id'], name='event_of_host')],
            },
        ),
        migrations.CreateModel(
            name='JoinToken',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('secret_hash', models.CharField(max_length=64, unique=True)),
                ('host_name', models.CharField(max_length=80)),
                ('region', models.CharField(max_length=40)),
                ('price_micros', models.BigIntegerField(default=0, help_text='First price per GPU and hour; changed later per offer.')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('used_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='marketplace.host')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('secret_hash__regex', '^[0-9a-f]{64}$')), name='join_token_hash_is_sha256')],
            },
        ),
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
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='maintenances', to='marketplace.host', verbose_name='host')),
            ],
            options={
                'verbose_name': 'maintenance',
                'verbose_name_plural': 'maintenance',
                'ordering': ('starts_at', 'id'),
                'constraints': [models.CheckConstraint(condition=models.Q(('ends_at__gt', models.F('starts_at'))), name='maintenance_ends_after_start')],
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
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='measurements', to='marketplace.host')),
            ],
            options={
                'ordering': ('-at', '-id'),
                'constraints': [models.UniqueConstraint(fields=('host', 'kind', 'stamp'), name='one_measurement_per_moment')],
            },
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('holder', models.UUIDField()),
                ('price_micros', models.BigIntegerField(help_text='Per hour, of this one GPU.')),
                ('cpu_millis', models.PositiveIntegerField(default=0)),
                ('ram_mb', models.PositiveIntegerField(default=0)),
                ('spot', models.BooleanField(default=False, help_text='Yields to hourly and reserved rents after notice.')),
                ('promised_until', models.DateTimeField(blank=True, help_text='The end that the host had named when it was leased; it may move only later.', null=True)),
                ('leased_at', models.DateTimeField(default=common.clock.now)),
                ('released_at', models.DateTimeField(blank=True, null=True)),
                ('release_reason', models.CharField(blank=True, max_length=40)),
                ('gpu', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='leases', to='marketplace.gpu')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='leases', to='marketplace.offer')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('released_at__isnull', True)), fields=['holder'], name='live_lease_of_holder'), models.Index(fields=['holder', 'leased_at'], name='lease_of_holder')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('released_at__isnull', True)), fields=('gpu',), name='one_live_lease_per_gpu'), models.CheckConstraint(condition=models.Q(('released_at__isnull', True), ('released_at__gte', models.F('leased_at')), _connector='OR'), name='lease_ends_after_start')],
            },
        ),
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('holder', models.UUIDField(primary_key=True, serialize=False)),
                ('gpu_count', models.PositiveIntegerField()),
                ('price_micros', models.BigIntegerField(help_text='Per hour and GPU, as ordered.')),
                ('made_at', models.DateTimeField(default=common.clock.now, help_text='First come, first served.')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='marketplace.offer')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('gpu_count__gt', 0)), name='claim_has_gpus')],
            },
        ),
        migrations.CreateModel(
            name='OfferPrice',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(default=common.clock.now)),
                ('price_micros', models.BigIntegerField()),
                ('spot_floor_micros', models.BigIntegerField(blank=True, null=True)),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='price_history', to='marketplace.offer')),
            ],
            options={
                'ordering': ('at', 'id'),
                'indexes': [models.Index(fields=['offer', 'at'], name='price_of_offer')],
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
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reliability_events', to='marketplace.host', verbose_name='host')),
            ],
            options={
                'verbose_name': 'reliability event',
                'verbose_name_plural': 'reliability ledger',
                'ordering': ('-starts_at', '-id'),
                'indexes': [models.Index(fields=['host', '-starts_at'], name='reliability_of_host'), models.Index(fields=['starts_at'], name='reliability_by_start'), models.Index(condition=models.Q(('kind', 'outage')), fields=['ends_at'], name='outage_by_end')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ends_at__isnull', True), ('kind', 'outage')), fields=('host',), name='one_open_outage_per_host'), models.UniqueConstraint(condition=models.Q(('subject__isnull', False)), fields=('host', 'kind', 'subject'), name='one_reliability_event_per_subject'), models.CheckConstraint(condition=models.Q(('ends_at__isnull', True), ('ends_at__gte', models.F('starts_at')), _connector='OR'), name='reliability_event_ends_after_start')],
            },
        ),
        migrations.CreateModel(
            name='SavedSearch',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('line', models.CharField(help_text='In the grammar of the search box.', max_length=500, verbose_name='search')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_searches', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('name', 'id'),
                'constraints': [models.UniqueConstraint(fields=('user', 'name'), name='one_saved_search_per_name')],
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
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='self_tests', to='marketplace.host')),
            ],
            options={
                'ordering': ('-asked_at', '-id'),
                'indexes': [models.Index(fields=['host', '-asked_at'], name='self_test_of_host')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('verdict', 'pending')), fields=('host',), name='one_pending_self_test_per_host')],
            },
        ),
        migrations.CreateModel(
            name='SpotPrice',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(default=common.clock.now)),
                ('price_micros', models.BigIntegerField(help_text='Per GPU and hour.')),
                ('supply', models.PositiveIntegerField(help_text='GPUs that spot rents could have.')),
                ('demand', models.PositiveIntegerField(help_text='GPUs that bids at the floor or above asked for.')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spot_prices', to='marketplace.offer')),
            ],
            options={
                'ordering': ('at', 'id'),
                'indexes': [models.Index(fields=['offer', 'at'], name='spot_price_of_offer')],
            },
        ),
        migrations.RunSQL(STAMP, UNSTAMP),
        migrations.RunSQL(GONE, UNGONE),
        migrations.RunSQL(LOOK, UNLOOK),
    ]
