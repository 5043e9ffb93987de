"""Seals: a hash chain over postings, entries and usage rows; and the stored results of audits."""

from django.db import migrations, models

import common.clock
import common.ids

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

    dependencies = [
        ('billing', '0005_metering_at_scale'),
    ]

    operations = [
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
        migrations.RunSQL(DIGESTS, NO_DIGESTS),
    ]
