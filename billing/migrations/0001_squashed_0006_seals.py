"""Wallets, the ledger and its walls, meters, holds, invoices, payments, payouts, coupons, budgets, seals."""

import billing.models.ledger
import common.clock
import common.ids
import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models
from django.contrib.postgres.operations import BtreeGistExtension

PRICES = """
CREATE FUNCTION billing_elapsed_us(opened_at timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (extract(epoch FROM until - opened_at) * 1000000)::bigint;

-- The price of the first used_us microseconds of continuous use, rounded half up once: `billing.pricing.cost`. Without
-- steps and at a rate that bigint can multiply it is whole rates and the rest; else exact in numeric.
CREATE FUNCTION billing_stepped_cost(rate bigint, hours integer, steps_us bigint[], steps_micros bigint[], used_us bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT div(2 * (rate::numeric * used_us + COALESCE(sum(
               (steps_micros[i] - COALESCE(steps_micros[i - 1], rate))::numeric * GREATEST(0, used_us - steps_us[i])), 0))
               + hours * 3600000000::numeric, hours * 7200000000::numeric)::bigint
    FROM generate_subscripts(steps_us, 1) AS i
$$;

CREATE FUNCTION billing_cost(rate bigint, hours integer, steps_us bigint[], steps_micros bigint[], used_us bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN steps_us = '{}' AND rate < 1000000000 / hours
        THEN rate * (used_us / (hours * 3600000000))
             + (2 * rate * (used_us % (hours * 3600000000)) + hours * 3600000000) / (hours * 7200000000)
        ELSE billing_stepped_cost(rate, hours, steps_us, steps_micros, used_us) END
$$;

CREATE FUNCTION billing_meter_cost(meter billing_meter, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT billing_cost(meter.rate_micros, meter.rate_hours, meter.steps_us, meter.steps_micros,
                        meter.base_us + billing_elapsed_us(meter.opened_at, until))
$$;

CREATE FUNCTION billing_stepped_rate(rate bigint, steps_us bigint[], steps_micros bigint[], used_us bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(steps_micros[(SELECT max(i) FROM generate_subscripts(steps_us, 1) AS i WHERE steps_us[i] <= used_us)], rate)
$$;

CREATE FUNCTION billing_rate(rate bigint, steps_us bigint[], steps_micros bigint[], used_us bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN steps_us = '{}' THEN rate ELSE billing_stepped_rate(rate, steps_us, steps_micros, used_us) END
$$;

CREATE FUNCTION billing_meter_rate(meter billing_meter, moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT billing_rate(meter.rate_micros, meter.steps_us, meter.steps_micros,
                        meter.base_us + billing_elapsed_us(meter.opened_at, moment))
$$;

-- The end of what may be charged as of a moment: an open calendar meter runs by the clock, every other one by its proof.
CREATE FUNCTION billing_meter_end(meter billing_meter, moment timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT GREATEST(meter.opened_at, LEAST(
        CASE WHEN meter.calendar AND meter.closed_at IS NULL THEN moment ELSE meter.proven_until END,
        meter.funded_until, meter.capped_at))
$$;

CREATE FUNCTION billing_fee(charge bigint, fee_bps integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN charge < 400000000000000 AND fee_bps <= 10000 THEN (2 * charge * fee_bps + 10000) / 20000
            ELSE div(2::numeric * charge * fee_bps + 10000, 20000)::bigint END;
"""
NO_PRICES = """
DROP FUNCTION billing_fee(bigint, integer);
DROP FUNCTION billing_meter_end(billing_meter, timestamptz);
DROP FUNCTION billing_meter_rate(billing_meter, timestamptz);
DROP FUNCTION billing_rate(bigint, bigint[], bigint[], bigint);
DROP FUNCTION billing_stepped_rate(bigint, bigint[], bigint[], bigint);
DROP FUNCTION billing_meter_cost(billing_meter, timestamptz);
DROP FUNCTION billing_cost(bigint, integer, bigint[], bigint[], bigint);
DROP FUNCTION billing_stepped_cost(bigint, integer, bigint[], bigint[], bigint);
DROP FUNCTION billing_elapsed_us(timestamptz, timestamptz);
"""

WALLS = """
CREATE FUNCTION billing_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER posting_is_append_only BEFORE UPDATE OR DELETE ON billing_posting
    FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();
CREATE TRIGGER entry_is_append_only BEFORE UPDATE OR DELETE ON billing_entry
    FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();
CREATE TRIGGER invoice_is_append_only BEFORE UPDATE OR DELETE ON billing_invoice
    FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();

-- All entries of a posting come in one statement, and add up to zero.
CREATE FUNCTION billing_entries_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wrong bigint;
BEGIN
    SELECT posting_id INTO wrong FROM fresh GROUP BY posting_id HAVING sum(amount_micros) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the entries of posting % do not add up to zero', wrong
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT posting_id INTO wrong FROM fresh GROUP BY posting_id
    HAVING count(*) <> (SELECT count(*) FROM billing_entry entry WHERE entry.posting_id = fresh.posting_id) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'posting % has its entries already', wrong USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER entries_add_up_to_zero AFTER INSERT ON billing_entry REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION billing_entries_balance();

-- Usage rows move their meters, and nothing else does: each begins where the meter's last one ended (or at its opening)
-- and ends within what may be charged; and they are what their two entries say.
CREATE FUNCTION billing_usage_advances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moved bigint;
    fresh_rows bigint;
BEGIN
    UPDATE billing_meter meter SET settled_until = span.ends
    FROM (SELECT meter_id, min(period_from) AS starts, max(period_to) AS ends FROM fresh GROUP BY meter_id) AS span
    WHERE meter.id = span.meter_id AND meter.settled_until = span.starts
      AND span.ends <= billing_meter_end(meter, span.ends);
    GET DIAGNOSTICS moved = ROW_COUNT;
    SELECT count(*) INTO fresh_rows FROM fresh;
    IF moved <> fresh_rows AND (moved <> (SELECT count(DISTINCT meter_id) FROM fresh) OR EXISTS (
        SELECT FROM (SELECT period_from, lag(period_to) OVER (PARTITION BY meter_id ORDER BY period_from) AS before_ends
                     FROM fresh) AS chain
        WHERE period_from <> before_ends))
    THEN
        RAISE EXCEPTION 'usage must begin where its meter was settled, and end within what it may charge'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    PERFORM FROM (SELECT charge_entry_id AS entry_id, min(posting_id) AS posting_id, -sum(charge_micros) AS amount
                  FROM fresh GROUP BY charge_entry_id
                  UNION ALL
                  SELECT share_entry_id, min(posting_id), sum(charge_micros - fee_micros)
                  FROM fresh GROUP BY share_entry_id) AS side
    LEFT JOIN billing_entry entry ON entry.id = side.entry_id AND entry.posting_id = side.posting_id
        AND entry.amount_micros = side.amount
    WHERE entry.id IS NULL;
    IF FOUND THEN
        RAISE EXCEPTION 'usage rows and their entries differ' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER usage_advances_its_meter AFTER INSERT ON billing_usage REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION billing_usage_advances();
CREATE TRIGGER usage_is_append_only BEFORE UPDATE OR DELETE ON billing_usage
    FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();

CREATE FUNCTION billing_only_usage_advances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'only usage rows move settled_until' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER only_usage_advances BEFORE UPDATE OF settled_until ON billing_meter
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION billing_only_usage_advances();
CREATE TRIGGER meter_is_kept BEFORE DELETE ON billing_meter
    FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();

-- Settlements and proofs rewrite rows in their own pages where there is room: then no index is touched.
ALTER TABLE billing_meter SET (fillfactor = 50);
ALTER TABLE billing_hold SET (fillfactor = 50);
ALTER TABLE billing_wallet SET (fillfactor = 50);
"""
NO_WALLS = """
ALTER TABLE billing_wallet RESET (fillfactor);
ALTER TABLE billing_hold RESET (fillfactor);
ALTER TABLE billing_meter RESET (fillfactor);
DROP TRIGGER meter_is_kept ON billing_meter;
DROP TRIGGER only_usage_advances ON billing_meter;
DROP FUNCTION billing_only_usage_advances();
DROP TRIGGER usage_is_append_only ON billing_usage;
DROP TRIGGER usage_advances_its_meter ON billing_usage;
DROP FUNCTION billing_usage_advances();
DROP TRIGGER entries_add_up_to_zero ON billing_entry;
DROP FUNCTION billing_entries_balance();
DROP TRIGGER invoice_is_append_only ON billing_invoice;
DROP TRIGGER entry_is_append_only ON billing_entry;
DROP TRIGGER posting_is_append_only ON billing_posting;
DROP FUNCTION billing_append_only();
"""

DIGESTS = """
-- Every time is UTC to the microsecond. A row's digest is the SHA-256 of a JSON array's text: ", " between the items, nothing
-- but ", \\ and control characters escaped, UTF-8.
CREATE FUNCTION billing_stamp(moment timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
CREATE FUNCTION billing_digest(content json) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(content::text, 'UTF8'))
$$;

CREATE FUNCTION billing_canonical_posting(p billing_posting) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array('posting', p.id, p.idempotency_key, p.kind, p.source_kind, p.source_id, p.memo, p.actor,
        billing_stamp(p.period_from), billing_stamp(p.period_to), p.rate_micros_per_hour, billing_stamp(p.created_at))
$$;
CREATE FUNCTION billing_canonical_entry(e billing_entry) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array('entry', e.id, e.posting_id, e.wallet_id, e.kind, e.amount_micros)
$$;
CREATE FUNCTION billing_canonical_usage(u billing_usage) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array('usage', u.id, u.posting_id, u.charge_entry_id, u.share_entry_id, u.meter_id,
        billing_stamp(u.period_from), billing_stamp(u.period_to), u.rate_micros, u.charge_micros, u.fee_micros)
$$;
CREATE FUNCTION billing_canonical_seal(s billing_seal) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array('seal', s.number, s.previous, s.after, s.upto, s.postings, s.entries, s.usage_rows, s.body,
        billing_stamp(s.sealed_at))
$$;

-- The body of a seal over the postings in (after, upto]: the digests of postings, then entries, then usage rows, by id.
CREATE FUNCTION billing_seal_body(
    after bigint, upto bigint, OUT postings bigint, OUT entries bigint, OUT usage_rows bigint, OUT body text)
LANGUAGE sql STABLE AS $$
    WITH posting AS (
        SELECT count(*) AS found,
               COALESCE(string_agg(billing_digest(billing_canonical_posting(p)), ''::bytea ORDER BY id), '') AS digests
        FROM billing_posting p WHERE id > after AND id <= upto
    ), entry AS (
        SELECT count(*) AS found,
               COALESCE(string_agg(billing_digest(billing_canonical_entry(e)), ''::bytea ORDER BY id), '') AS digests
        FROM billing_entry e WHERE posting_id > after AND posting_id <= upto
    ), used AS (
        SELECT count(*) AS found,
               COALESCE(string_agg(billing_digest(billing_canonical_usage(u)), ''::bytea ORDER BY u.id), '') AS digests
        FROM billing_usage u JOIN billing_entry paid ON paid.id = charge_entry_id
        WHERE paid.posting_id > after AND paid.posting_id <= upto
    )
    SELECT posting.found, entry.found, used.found,
           encode(sha256(posting.digests || entry.digests || used.digests), 'hex')
    FROM posting, entry, used
$$;

CREATE TRIGGER seal_is_append_only BEFORE UPDATE OR DELETE ON billing_seal
    FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();
"""
NO_DIGESTS = """
DROP TRIGGER seal_is_append_only ON billing_seal;
DROP FUNCTION billing_seal_body(bigint, bigint);
DROP FUNCTION billing_canonical_seal(billing_seal);
DROP FUNCTION billing_canonical_usage(billing_usage);
DROP FUNCTION billing_canonical_entry(billing_entry);
DROP FUNCTION billing_canonical_posting(billing_posting);
DROP FUNCTION billing_digest(json);
DROP FUNCTION billing_stamp(timestamptz);
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_squashed_0004_webhooks'),
    ]

    operations = [
        BtreeGistExtension(),
        migrations.CreateModel(
            name='BillingAddress',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='billing_address', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=120, verbose_name='name or company')),
                ('address', models.TextField(blank=True, max_length=500, verbose_name='address')),
                ('country', models.CharField(blank=True, help_text='Two letters, as in ISO 3166.', max_length=2, verbose_name='country')),
                ('tax_id', models.CharField(blank=True, max_length=40, verbose_name='tax number')),
            ],
        ),
        migrations.CreateModel(
            name='InvoiceSeries',
            fields=[
                ('year', models.PositiveIntegerField(primary_key=True, serialize=False)),
                ('last_number', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Wallet',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('renter', 'renter'), ('host', 'host earnings'), ('coupon', 'coupons'), ('debt', 'debt'), ('platform', 'platform fees'), ('funding', 'outside money'), ('stripe', 'Stripe'), ('bank', 'payouts'), ('escrow', 'prepaid terms'), ('losses', 'losses'), ('gifts', 'coupons given')], max_length=10)),
                ('balance_micros', models.BigIntegerField(default=0)),
                ('held_micros', models.BigIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='wallets', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['renter', 'host', 'coupon', 'debt', 'platform', 'funding', 'stripe', 'bank', 'escrow', 'losses', 'gifts'])), name='wallet_kind'), models.CheckConstraint(condition=models.Q(('held_micros__gte', 0)), name='wallet_held_not_negative'), models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['renter', 'coupon', 'escrow']), _negated=True), ('balance_micros__gte', models.F('held_micros')), _connector='OR'), name='wallet_never_overspent'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'debt'), _negated=True), ('balance_micros__lte', 0), _connector='OR'), name='debt_is_never_positive'), models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['renter', 'host', 'coupon', 'debt']), ('owner__isnull', False)), models.Q(('kind__in', ['platform', 'funding', 'stripe', 'bank', 'escrow', 'losses', 'gifts']), ('owner__isnull', True)), _connector='OR'), name='wallet_owner_by_kind'), models.UniqueConstraint(condition=models.Q(('owner__isnull', False)), fields=('owner', 'kind'), name='one_wallet_per_owner'), models.UniqueConstraint(condition=models.Q(('owner__isnull', True)), fields=('kind',), name='one_market_wallet_per_kind')],
            },
        ),
        migrations.CreateModel(
            name='CouponCode',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('code', models.CharField(help_text='Letters, digits and hyphens; case does not matter.', max_length=40, verbose_name='code')),
                ('kind', models.CharField(choices=[('fixed', 'fixed amount'), ('percent', 'percent of a top-up')], max_length=10)),
                ('amount_micros', models.BigIntegerField(blank=True, help_text='Of a fixed one.', null=True)),
                ('percent_bps', models.PositiveIntegerField(blank=True, help_text='Of a percent one: hundredths of a percent.', null=True)),
                ('most_micros', models.BigIntegerField(blank=True, help_text='Of a percent one: never more than this.', null=True)),
                ('modes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), blank=True, default=list, help_text='Empty: every billing mode.', size=None)),
                ('gpu_models', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), blank=True, default=list, help_text='Empty: every GPU model.', size=None)),
                ('expires_at', models.DateTimeField(blank=True, help_text='Of the code.', null=True)),
                ('valid_days', models.PositiveIntegerField(blank=True, help_text='How long the credit lasts; empty: for good.', null=True)),
                ('per_user', models.PositiveIntegerField(default=1)),
                ('total_limit', models.PositiveIntegerField(blank=True, null=True)),
                ('redeemed', models.PositiveIntegerField(default=0)),
                ('active', models.BooleanField(default=True)),
                ('created_by', models.CharField(max_length=80)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Upper('code'), name='one_coupon_per_code'), models.CheckConstraint(condition=models.Q(models.Q(('amount_micros__gt', 0), ('kind', 'fixed')), models.Q(('kind', 'percent'), ('percent_bps__gt', 0), ('percent_bps__lte', 10000)), _connector='OR'), name='coupon_code_gives_something'), models.CheckConstraint(condition=models.Q(('total_limit__isnull', True), ('redeemed__lte', models.F('total_limit')), _connector='OR'), name='coupon_code_within_limit')],
            },
        ),
        migrations.CreateModel(
            name='LedgerAudit',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('asked_by', models.CharField(max_length=80, verbose_name='asked by')),
                ('started_at', models.DateTimeField(default=common.clock.now, verbose_name='started')),
                ('took_ms', models.PositiveIntegerField(verbose_name='milliseconds')),
                ('seal_number', models.PositiveIntegerField(help_text='None: nothing was sealed yet.', null=True, verbose_name='last seal')),
                ('head', models.CharField(blank=True, default='', max_length=64)),
                ('count', models.PositiveIntegerField(verbose_name='findings')),
                ('findings', models.JSONField(default=list, help_text='The first of them: code, subject, detail, what must hold.')),
            ],
            options={
                'verbose_name': 'ledger check',
                'verbose_name_plural': 'ledger checks',
                'indexes': [models.Index(fields=['-started_at'], name='audit_latest')],
            },
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('origin', models.CharField(choices=[('checkout', 'checkout'), ('auto', 'automatic top-up')], default='checkout', max_length=10)),
                ('amount_micros', models.BigIntegerField()),
                ('state', models.CharField(choices=[('pending', 'pending'), ('succeeded', 'succeeded'), ('failed', 'failed'), ('expired', 'expired')], default='pending', max_length=10)),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('session_id', models.CharField(blank=True, max_length=100, null=True, unique=True)),
                ('intent_id', models.CharField(blank=True, max_length=100, null=True, unique=True)),
                ('charge_id', models.CharField(blank=True, max_length=100, null=True, unique=True)),
                ('checkout_url', models.TextField(blank=True)),
                ('refunded_micros', models.BigIntegerField(default=0)),
                ('failure', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('paid_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['owner', '-created_at'], name='payment_of_owner'), models.Index(condition=models.Q(('state', 'pending')), fields=['created_at'], name='payment_pending')],
                'constraints': [models.CheckConstraint(condition=models.Q(('amount_micros__gt', 0)), name='payment_is_positive'), models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'succeeded', 'failed', 'expired'])), name='payment_state'), models.CheckConstraint(condition=models.Q(('refunded_micros__gte', 0), ('refunded_micros__lte', models.F('amount_micros'))), name='payment_refunds_at_most_all')],
            },
        ),
        migrations.CreateModel(
            name='Coupon',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(default=1, help_text="The owner's first, second … by this code.")),
                ('waits_for_top_up', models.BooleanField(default=False)),
                ('granted_micros', models.BigIntegerField(default=0)),
                ('remaining_micros', models.BigIntegerField(default=0)),
                ('redeemed_at', models.DateTimeField(default=common.clock.now)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('expired_at', models.DateTimeField(blank=True, help_text='When what remained was taken back.', null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='coupons', to=settings.AUTH_USER_MODEL)),
                ('code', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='coupons', to='billing.couponcode')),
                ('payment', models.ForeignKey(help_text='The top-up it grew from.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='coupons', to='billing.payment')),
            ],
            options={
                'ordering': ('expires_at', 'redeemed_at', 'id'),
                'indexes': [models.Index(condition=models.Q(('remaining_micros__gt', 0)), fields=['owner'], name='coupon_to_spend'), models.Index(condition=models.Q(('expired_at__isnull', True)), fields=['expires_at'], name='coupon_to_expire')],
                'constraints': [models.CheckConstraint(condition=models.Q(('remaining_micros__gte', 0), ('remaining_micros__lte', models.F('granted_micros'))), name='coupon_remains_within_grant'), models.UniqueConstraint(fields=('code', 'owner', 'number'), name='one_coupon_per_code_owner_and_number'), models.UniqueConstraint(condition=models.Q(('payment__isnull', False)), fields=('payment',), name='one_coupon_per_top_up')],
            },
        ),
        migrations.CreateModel(
            name='PaymentProfile',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='payment_profile', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('customer_id', models.CharField(blank=True, max_length=64, null=True, unique=True)),
                ('card_id', models.CharField(blank=True, help_text="Stripe's id of the saved payment method.", max_length=64)),
                ('card_brand', models.CharField(blank=True, max_length=20)),
                ('card_last4', models.CharField(blank=True, max_length=4)),
                ('auto_enabled', models.BooleanField(default=False, verbose_name='top up by itself')),
                ('auto_threshold_micros', models.BigIntegerField(default=0, help_text='Tops up when less than this can be spent.')),
                ('auto_amount_micros', models.BigIntegerField(default=0)),
                ('auto_monthly_cap_micros', models.BigIntegerField(default=0, help_text='In one calendar month (UTC).')),
                ('auto_tried_at', models.DateTimeField(blank=True, help_text='At most one try an hour.', null=True)),
                ('auto_failure', models.CharField(blank=True, help_text='It rests until the owner has seen to this.', max_length=200)),
                ('auto_told_at', models.DateTimeField(blank=True, help_text='When its owner was written to about that.', null=True)),
                ('language', models.CharField(default='en', help_text='Of mails about it.', max_length=10)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('auto_enabled', False), models.Q(('auto_amount_micros__gt', 0), ('auto_threshold_micros__gte', 0), ('auto_monthly_cap_micros__gte', models.F('auto_amount_micros'))), _connector='OR'), name='auto_top_up_is_complete')],
            },
        ),
        migrations.CreateModel(
            name='PayoutAccount',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='payout_account', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('method', models.CharField(choices=[('stripe', 'Stripe'), ('bank', 'bank transfer')], default='bank', max_length=6)),
                ('stripe_account_id', models.CharField(blank=True, max_length=64)),
                ('holder', models.CharField(blank=True, max_length=120, verbose_name='account holder')),
                ('iban', models.CharField(blank=True, max_length=40, verbose_name='IBAN or account number')),
                ('bank', models.CharField(blank=True, max_length=80, verbose_name='bank or BIC')),
                ('minimum_micros', models.BigIntegerField(default=10000000, help_text='Pay out by itself from this amount on.')),
                ('automatic', models.BooleanField(default=True, verbose_name='pay out every week')),
                ('frozen', models.BooleanField(default=False, help_text='Set by staff: nothing is paid out.')),
                ('frozen_reason', models.CharField(blank=True, help_text='The host owner reads it.', max_length=200)),
                ('changed_at', models.DateTimeField(default=common.clock.now, help_text='When it was last filled in.')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('minimum_micros__gt', 0)), name='payout_minimum_positive')],
            },
        ),
        migrations.CreateModel(
            name='Posting',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('idempotency_key', models.CharField(max_length=200, unique=True)),
                ('kind', models.CharField(choices=[('usage', 'usage'), ('grant', 'credit granted'), ('credit', 'given back'), ('top_up', 'top-up'), ('refund', 'refund'), ('dispute', 'dispute'), ('coupon', 'coupon'), ('term', 'reserved term'), ('transfer', 'transfer'), ('payout', 'payout')], max_length=10)),
                ('source_kind', models.CharField(max_length=20)),
                ('source_id', models.UUIDField()),
                ('memo', models.CharField(max_length=200)),
                ('actor', models.CharField(max_length=80)),
                ('period_from', models.DateTimeField(null=True)),
                ('period_to', models.DateTimeField(null=True)),
                ('rate_micros_per_hour', models.BigIntegerField(null=True)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
            ],
            options={
                'indexes': [models.Index(fields=['source_kind', 'source_id'], name='posting_source'), django.contrib.postgres.indexes.BrinIndex(fields=['created_at'], name='posting_day')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind', 'usage'), models.Q(models.Q(('kind__in', ['usage', 'credit']), _negated=True), ('period_from__isnull', True)), models.Q(('kind', 'credit'), ('period_from__lt', models.F('period_to')), ('rate_micros_per_hour__isnull', False)), _connector='OR'), name='credit_has_its_period'), django.contrib.postgres.constraints.ExclusionConstraint(condition=models.Q(('kind', 'credit')), expressions=[('source_kind', '='), ('source_id', '='), (billing.models.ledger.TsTzRange('period_from', 'period_to'), '&&')], name='no_second_given_back_twice')],
            },
        ),
        migrations.CreateModel(
            name='Reconciliation',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('requested_by', models.CharField(max_length=80)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('since', models.DateTimeField(blank=True, null=True)),
                ('until', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('seen', models.PositiveIntegerField(default=0, help_text='Objects of Stripe that were looked at.')),
                ('healed', models.PositiveIntegerField(default=0, help_text='Of these, what no delivery had told before.')),
                ('findings', models.JSONField(default=list, help_text='What still differs.')),
                ('failure', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['created_at'], name='reconciliation_to_run'), models.Index(condition=models.Q(('failure', ''), ('finished_at__isnull', False)), fields=['-until'], name='reconciliation_good')],
            },
        ),
        migrations.CreateModel(
            name='Seal',
            fields=[
                ('number', models.PositiveIntegerField(primary_key=True, serialize=False)),
                ('after', models.BigIntegerField(help_text='The last posting under the seal before.')),
                ('upto', models.BigIntegerField(help_text='The last posting under this one.', unique=True)),
                ('postings', models.PositiveBigIntegerField()),
                ('entries', models.PositiveBigIntegerField()),
                ('usage_rows', models.PositiveBigIntegerField()),
                ('body', models.CharField(max_length=64)),
                ('previous', models.CharField(help_text='The head before; zeros for the first.', max_length=64, unique=True)),
                ('head', models.CharField(max_length=64, unique=True)),
                ('sealed_at', models.DateTimeField(default=common.clock.now)),
            ],
            options={
                'ordering': ['-number'],
                'constraints': [models.CheckConstraint(condition=models.Q(('upto__gt', models.F('after'))), name='seal_covers_something')],
            },
        ),
        migrations.CreateModel(
            name='StripeEvent',
            fields=[
                ('id', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=80)),
                ('object_id', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(help_text="By Stripe's clock.")),
                ('received_at', models.DateTimeField(default=common.clock.now)),
                ('deliveries', models.PositiveIntegerField(default=1)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('retry_at', models.DateTimeField(default=common.clock.now, help_text='Not applied again before.')),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('outcome', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('applied_at__isnull', True)), fields=['received_at'], name='stripe_event_to_apply'), models.Index(fields=['object_id'], name='stripe_event_of_object')],
            },
        ),
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(choices=[('instance', 'instance'), ('member', 'member'), ('team', 'team')], max_length=10)),
                ('subject_id', models.UUIDField()),
                ('name', models.CharField(help_text='Of the instance, person or team when it was set.', max_length=120)),
                ('period', models.CharField(choices=[('month', 'each month'), ('total', 'in all')], default='month', max_length=5)),
                ('limit_micros', models.BigIntegerField()),
                ('hard', models.BooleanField(default=False, verbose_name='stop when it is reached')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('told_period', models.CharField(blank=True, help_text='The month, as 2026-11, of the last notice.', max_length=7)),
                ('told_percent', models.PositiveIntegerField(default=0, help_text='The highest mark told of in that month: 50, 80, 100.')),
                ('source_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, help_text='Of an instance: its reserved terms, charged by their own ids.', size=None)),
                ('owner', models.ForeignKey(help_text='Who set it and is told.', on_delete=django.db.models.deletion.CASCADE, related_name='budgets', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['scope', 'subject_id'], name='budget_of_subject')],
                'constraints': [models.CheckConstraint(condition=models.Q(('limit_micros__gt', 0)), name='budget_is_positive'), models.UniqueConstraint(fields=('owner', 'scope', 'subject_id', 'period'), name='one_budget_per_subject')],
            },
        ),
        migrations.CreateModel(
            name='CouponDraw',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('source_kind', models.CharField(max_length=20)),
                ('source_id', models.UUIDField()),
                ('drawn_micros', models.BigIntegerField(default=0)),
                ('used_micros', models.BigIntegerField(default=0)),
                ('returned_micros', models.BigIntegerField(default=0)),
                ('seen_micros', models.BigIntegerField(default=0, help_text='What the source had paid in all when this was last reckoned.')),
                ('opened_at', models.DateTimeField(default=common.clock.now)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('coupon', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='draws', to='billing.coupon')),
            ],
            options={
                'indexes': [models.Index(fields=['source_kind', 'source_id'], name='draw_of_source')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('coupon', 'source_kind', 'source_id'), name='one_open_draw_per_coupon_and_source'), models.CheckConstraint(condition=models.Q(('returned_micros__gte', 0), ('returned_micros__lte', models.F('drawn_micros'))), name='draw_returns_at_most_all'), models.CheckConstraint(condition=models.Q(('used_micros__gte', 0), ('used_micros__lte', django.db.models.expressions.CombinedExpression(models.F('drawn_micros'), '-', models.F('returned_micros')))), name='draw_uses_at_most_all')],
            },
        ),
        migrations.CreateModel(
            name='Invoice',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('year', models.PositiveIntegerField()),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('invoice', 'invoice'), ('credit_note', 'credit note')], default='invoice', max_length=11)),
                ('reason', models.CharField(blank=True, help_text='Of a correction.', max_length=200)),
                ('actor', models.CharField(default='sweep', max_length=80)),
                ('period_from', models.DateTimeField()),
                ('period_to', models.DateTimeField()),
                ('currency', models.CharField(max_length=3)),
                ('total_micros', models.BigIntegerField(help_text='Tax included, of everything charged in the period.')),
                ('tax_bps', models.PositiveIntegerField(default=0)),
                ('tax_micros', models.BigIntegerField(default=0, help_text='The tax within the total.')),
                ('coupon_micros', models.BigIntegerField(default=0, help_text='The part that coupons paid.')),
                ('buyer', models.JSONField(default=dict)),
                ('seller', models.JSONField(default=dict)),
                ('lines', models.JSONField(default=list)),
                ('issued_at', models.DateTimeField(default=common.clock.now)),
                ('corrects', models.ForeignKey(help_text='The invoice that this one corrects.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='corrections', to='billing.invoice')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invoices', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-issued_at', '-id'),
                'constraints': [models.UniqueConstraint(fields=('year', 'number'), name='one_invoice_per_number'), models.UniqueConstraint(condition=models.Q(('corrects__isnull', True)), fields=('owner', 'period_from'), name='one_invoice_per_period'), models.UniqueConstraint(condition=models.Q(('corrects__isnull', False)), fields=('corrects', 'kind'), name='corrected_once'), models.CheckConstraint(condition=models.Q(('kind', 'invoice'), models.Q(('corrects__isnull', False), ('kind', 'credit_note')), _connector='OR'), name='credit_note_corrects'), models.CheckConstraint(condition=models.Q(('period_from__lt', models.F('period_to'))), name='invoice_period_is_forward')],
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('low', 'running low'), ('exhausted', 'exhausted'), ('release', 'data about to be released'), ('budget', 'budget')], max_length=10)),
                ('key', models.CharField(max_length=200, unique=True)),
                ('subject_id', models.UUIDField(blank=True, help_text='What it is about: a budget, a wallet, an instance.', null=True)),
                ('ends_at', models.DateTimeField(blank=True, help_text='The date that it announces.', null=True)),
                ('facts', models.JSONField(default=dict)),
                ('at', models.DateTimeField(default=common.clock.now)),
                ('claimed_at', models.DateTimeField(blank=True, null=True)),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-at', '-id'),
                'indexes': [models.Index(condition=models.Q(('mailed_at__isnull', True)), fields=['at'], name='notice_to_mail'), models.Index(fields=['kind', 'subject_id'], name='notice_of_subject'), models.Index(fields=['person', '-at'], name='notice_of_person')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['low', 'exhausted', 'release', 'budget'])), name='notice_kind')],
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('rent', 'rent'), ('start', 'start'), ('term', 'reserved term'), ('renewal', 'renewal'), ('conversion', 'change of billing mode'), ('early_end', 'early end of a term'), ('top_up', 'top-up'), ('coupon', 'coupon')], max_length=12)),
                ('key', models.CharField(help_text='Of the decision: written once, however often it is tried.', max_length=200, unique=True)),
                ('source_kind', models.CharField(max_length=20)),
                ('source_id', models.UUIDField()),
                ('title', models.CharField(max_length=200)),
                ('billing_mode', models.CharField(blank=True, max_length=10)),
                ('amount_micros', models.BigIntegerField(default=0, help_text='Paid at once; negative: given back. Use is on the statement.')),
                ('rate_micros_per_hour', models.BigIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='orders', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['owner', '-created_at'], name='order_of_owner'), models.Index(fields=['source_kind', 'source_id'], name='order_of_source')],
            },
        ),
        migrations.CreateModel(
            name='Dispute',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('amount_micros', models.BigIntegerField()),
                ('state', models.CharField(choices=[('open', 'open'), ('won', 'won'), ('lost', 'lost')], default='open', max_length=10)),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('stripe_id', models.CharField(max_length=100, unique=True)),
                ('reason', models.CharField(blank=True, max_length=80)),
                ('opened_at', models.DateTimeField(default=common.clock.now)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('payment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='disputes', to='billing.payment')),
            ],
            options={
                'ordering': ('-opened_at', '-id'),
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['open', 'won', 'lost'])), name='dispute_state')],
            },
        ),
        migrations.CreateModel(
            name='Payout',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('method', models.CharField(choices=[('stripe', 'Stripe'), ('bank', 'bank transfer')], max_length=6)),
                ('amount_micros', models.BigIntegerField()),
                ('state', models.CharField(choices=[('pending', 'pending'), ('sent', 'sent'), ('paid', 'paid'), ('failed', 'failed')], default='pending', max_length=10)),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('matured_until', models.DateTimeField(help_text='Earnings up to here had matured.')),
                ('destination', models.JSONField(default=dict, help_text='The account as it was then: a later change moves no money.')),
                ('batch', models.CharField(blank=True, help_text='Of the bank export that it was sent with.', max_length=40)),
                ('reference', models.CharField(blank=True, help_text="Stripe's transfer, or the bank's own reference.", max_length=100)),
                ('failure', models.CharField(blank=True, max_length=200)),
                ('requested_by', models.CharField(max_length=80)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('settled_by', models.CharField(blank=True, max_length=80)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payouts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['owner', '-created_at'], name='payout_of_owner'), models.Index(condition=models.Q(('state__in', ['pending', 'sent'])), fields=['created_at'], name='payout_under_way')],
                'constraints': [models.CheckConstraint(condition=models.Q(('amount_micros__gt', 0)), name='payout_is_positive'), models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'sent', 'paid', 'failed'])), name='payout_state'), models.UniqueConstraint(condition=models.Q(('state__in', ['pending', 'sent'])), fields=('owner',), name='one_payout_under_way_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='Refund',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('amount_micros', models.BigIntegerField()),
                ('state', models.CharField(choices=[('pending', 'pending'), ('succeeded', 'succeeded'), ('failed', 'failed')], default='pending', max_length=10)),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('stripe_id', models.CharField(blank=True, max_length=100, null=True, unique=True)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('actor', models.CharField(max_length=80)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('payment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='billing.payment')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'constraints': [models.CheckConstraint(condition=models.Q(('amount_micros__gt', 0)), name='refund_is_positive'), models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'succeeded', 'failed'])), name='refund_state')],
            },
        ),
        migrations.CreateModel(
            name='Standing',
            fields=[
                ('wallet', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='standing', serialize=False, to='billing.wallet')),
                ('state', models.CharField(choices=[('good', 'in good standing'), ('low', 'running low'), ('exhausted', 'exhausted')], default='good', max_length=10)),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('since', models.DateTimeField(default=common.clock.now)),
                ('next_state_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['good', 'low', 'exhausted'])), name='standing_state')],
            },
        ),
        migrations.CreateModel(
            name='Meter',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('source_kind', models.CharField(max_length=20)),
                ('source_id', models.UUIDField()),
                ('label', models.CharField(help_text='What the statement line says was used.', max_length=200)),
                ('mode', models.CharField(blank=True, default='', max_length=10)),
                ('gpu_model', models.CharField(blank=True, default='', max_length=60)),
                ('calendar', models.BooleanField(default=False, help_text='Charged by the clock, without proof.')),
                ('rate_micros', models.BigIntegerField(help_text='For each `rate_hours` hours, before the first step.')),
                ('rate_hours', models.PositiveSmallIntegerField(default=1)),
                ('steps_us', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text='Continuous use, microseconds.', size=None)),
                ('steps_micros', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text='The rate from each step on.', size=None)),
                ('most_micros', models.BigIntegerField(blank=True, help_text='Where the rate moves: the most it can be.', null=True)),
                ('base_us', models.BigIntegerField(default=0, help_text='Continuous use before this meter, microseconds.')),
                ('fee_bps', models.PositiveIntegerField(help_text='Platform fee in hundredths of a percent of the charge.')),
                ('opened_at', models.DateTimeField()),
                ('proven_until', models.DateTimeField()),
                ('funded_until', models.DateTimeField(help_text='Up to here the open hold pays.')),
                ('capped_at', models.DateTimeField(blank=True, help_text='Stop request plus grace: nothing later is charged.', null=True)),
                ('settled_until', models.DateTimeField()),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('is_finished', models.GeneratedField(db_persist=True, expression=models.ExpressionWrapper(models.Q(('closed_at__isnull', False), ('settled_until__gte', django.db.models.functions.comparison.Least('proven_until', 'funded_until', 'capped_at'))), output_field=models.BooleanField()), help_text='Closed, and all of it is charged.', output_field=models.BooleanField())),
                ('payee', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='billing.wallet')),
                ('payer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='billing.wallet')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('closed_at__isnull', True)), fields=['funded_until'], name='meter_to_fund'), models.Index(condition=models.Q(('is_finished', False)), fields=['payer', 'id'], name='meter_to_pay'), models.Index(condition=models.Q(('is_finished', False)), fields=['payee'], name='meter_to_earn'), models.Index(fields=['source_kind', 'source_id'], name='meter_source')],
                'constraints': [models.CheckConstraint(condition=models.Q(('rate_micros__gte', 0)), name='meter_rate_not_negative'), models.CheckConstraint(condition=models.Q(('rate_hours__gte', 1)), name='meter_rate_is_for_hours'), models.CheckConstraint(condition=models.Q(('steps_us__len', models.F('steps_micros__len'))), name='meter_step_has_its_rate'), models.CheckConstraint(condition=models.Q(('base_us__gte', 0)), name='meter_base_not_negative'), models.CheckConstraint(condition=models.Q(('fee_bps__lte', 10000)), name='meter_fee_at_most_all'), models.CheckConstraint(condition=models.Q(('proven_until__gte', models.F('opened_at'))), name='meter_proof_after_opening'), models.CheckConstraint(condition=models.Q(('settled_until__gte', models.F('opened_at')), models.Q(('settled_until__lte', models.F('proven_until')), models.Q(('calendar', True), ('closed_at__isnull', True)), _connector='OR')), name='meter_settles_only_proof'), models.CheckConstraint(condition=models.Q(('funded_until__gte', models.F('settled_until'))), name='meter_settles_only_funded'), models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('source_kind', 'source_id'), name='one_open_meter_per_source'), django.contrib.postgres.constraints.ExclusionConstraint(condition=models.Q(('closed_at__isnull', False)), expressions=[('source_kind', '='), ('source_id', '='), (billing.models.ledger.TsTzRange('opened_at', 'proven_until'), '&&')], name='meters_of_a_source_never_overlap')],
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('source_kind', models.CharField(max_length=20)),
                ('source_id', models.UUIDField()),
                ('mode', models.CharField(blank=True, default='', max_length=10)),
                ('gpu_model', models.CharField(blank=True, default='', max_length=60)),
                ('amount_micros', models.BigIntegerField()),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('released_at', models.DateTimeField(blank=True, null=True)),
                ('wallet', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='billing.wallet')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('amount_micros__gte', 0)), name='hold_not_negative'), models.UniqueConstraint(condition=models.Q(('released_at__isnull', True)), fields=('source_kind', 'source_id'), name='one_open_hold_per_source')],
            },
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('charge', 'charge'), ('host_share', "host's share"), ('platform_fee', 'platform fee'), ('credit', 'credit'), ('refund', 'given back'), ('funding', 'funding'), ('top_up', 'top-up'), ('card_refund', 'refund to the card'), ('dispute', 'dispute'), ('coupon', 'coupon'), ('prepaid', 'reserved term'), ('exit_fee', 'early end of a term'), ('transfer', 'transfer'), ('payout', 'payout'), ('loss', 'loss')], max_length=12)),
                ('amount_micros', models.BigIntegerField()),
                ('posting', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='billing.posting')),
                ('wallet', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='billing.wallet')),
            ],
            options={
                'verbose_name_plural': 'entries',
                'indexes': [models.Index(fields=['wallet', '-id'], name='entry_of_wallet')],
            },
        ),
        migrations.CreateModel(
            name='Usage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('period_from', models.DateTimeField()),
                ('period_to', models.DateTimeField()),
                ('rate_micros', models.BigIntegerField(help_text='For each `rate_hours` hours of the meter.')),
                ('charge_micros', models.BigIntegerField()),
                ('fee_micros', models.BigIntegerField()),
                ('charge_entry', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='paid_usage', to='billing.entry')),
                ('meter', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='usage', to='billing.meter')),
                ('posting', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='usage', to='billing.posting')),
                ('share_entry', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='earned_usage', to='billing.entry')),
            ],
            options={
                'verbose_name_plural': 'usage',
                'constraints': [models.CheckConstraint(condition=models.Q(('period_from__lt', models.F('period_to'))), name='usage_has_its_period'), models.CheckConstraint(condition=models.Q(('charge_micros__gte', models.F('fee_micros')), ('fee_micros__gte', 0)), name='usage_fee_within_charge'), models.UniqueConstraint(fields=('meter', 'period_from'), name='no_second_charged_twice')],
            },
        ),
        migrations.RunSQL(PRICES, NO_PRICES),
        migrations.RunSQL(WALLS, NO_WALLS),
        migrations.RunSQL(DIGESTS, NO_DIGESTS),
    ]
