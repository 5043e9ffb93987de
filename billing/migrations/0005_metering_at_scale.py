"""Metering at scale: tariffs on meters, a usage row for each charged period, one posting for a whole batch."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.comparison
from django.db import migrations, models

PRICES = """
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

CREATE OR REPLACE FUNCTION billing_fee(charge bigint, fee_bps integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN charge < 400000000000000 AND fee_bps <= 10000 THEN (2 * charge * fee_bps + 10000) / 20000
            ELSE div(2::numeric * charge * fee_bps + 10000, 20000)::bigint END;

DROP FUNCTION billing_cumulative(bigint, timestamptz, timestamptz);
"""
NO_PRICES = """
CREATE FUNCTION billing_cumulative(rate bigint, opened_at timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN div(2::numeric * rate * billing_elapsed_us(opened_at, until) + 3600000000, 7200000000)::bigint;
DROP FUNCTION billing_meter_end(billing_meter, timestamptz);
DROP FUNCTION billing_meter_rate(billing_meter, timestamptz);
DROP FUNCTION billing_rate(bigint, bigint[], bigint[], bigint);
DROP FUNCTION billing_stepped_rate(bigint, bigint[], bigint[], bigint);
DROP FUNCTION billing_meter_cost(billing_meter, timestamptz);
DROP FUNCTION billing_cost(bigint, integer, bigint[], bigint[], bigint);
DROP FUNCTION billing_stepped_cost(bigint, integer, bigint[], bigint[], bigint);
"""

COPY = """
INSERT INTO billing_usage (posting_id, charge_entry_id, share_entry_id, meter_id, period_from, period_to, rate_micros,
                           charge_micros, fee_micros)
SELECT posting.id, charge.id, share.id, posting.meter_id, posting.period_from, posting.period_to,
       posting.rate_micros_per_hour, -charge.amount_micros, -charge.amount_micros - share.amount_micros
FROM billing_posting posting
JOIN billing_entry charge ON charge.posting_id = posting.id AND charge.kind = 'charge'
JOIN billing_entry share ON share.posting_id = posting.id AND share.kind = 'host_share'
WHERE posting.kind = 'usage'
ORDER BY posting.id
"""

WALLS = """
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
DROP TRIGGER entries_add_up_to_zero ON billing_entry;
DROP FUNCTION billing_posting_balances();
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
CREATE FUNCTION billing_posting_balances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT sum(amount_micros) FROM billing_entry WHERE posting_id = NEW.posting_id) <> 0 THEN
        RAISE EXCEPTION 'the entries of posting % do not add up to zero', NEW.posting_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER entries_add_up_to_zero AFTER INSERT ON billing_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION billing_posting_balances();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0004_money_in_and_out'),
    ]

    operations = [
        migrations.CreateModel(
            name='Usage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('period_from', models.DateTimeField()),
                ('period_to', models.DateTimeField()),
                ('rate_micros', models.BigIntegerField(help_text='For each `rate_hours` hours of the meter.')),
                ('charge_micros', models.BigIntegerField()),
                ('fee_micros', models.BigIntegerField()),
            ],
            options={
                'verbose_name_plural': 'usage',
            },
        ),
        migrations.RemoveConstraint(
            model_name='meter',
            name='meter_rate_not_negative',
        ),
        migrations.RemoveConstraint(
            model_name='meter',
            name='meter_settles_only_proof',
        ),
        migrations.RemoveConstraint(
            model_name='posting',
            name='no_second_charged_twice',
        ),
        migrations.RemoveConstraint(
            model_name='posting',
            name='usage_has_its_period',
        ),
        migrations.RemoveIndex(
            model_name='meter',
            name='meter_to_settle',
        ),
        migrations.RemoveIndex(
            model_name='meter',
            name='meter_to_finish',
        ),
        migrations.RemoveIndex(
            model_name='meter',
            name='meter_accruing',
        ),
        migrations.RenameField(model_name='meter', old_name='rate_micros_per_hour', new_name='rate_micros'),
        migrations.AlterField(
            model_name='meter',
            name='rate_micros',
            field=models.BigIntegerField(help_text='For each `rate_hours` hours, before the first step.'),
        ),
        migrations.AddField(
            model_name='hold',
            name='gpu_model',
            field=models.CharField(blank=True, default='', max_length=60),
        ),
        migrations.AddField(
            model_name='hold',
            name='mode',
            field=models.CharField(blank=True, default='', max_length=10),
        ),
        migrations.AddField(
            model_name='meter',
            name='base_us',
            field=models.BigIntegerField(default=0, help_text='Continuous use before this meter, microseconds.'),
        ),
        migrations.AddField(
            model_name='meter',
            name='calendar',
            field=models.BooleanField(default=False, help_text='Charged by the clock, without proof.'),
        ),
        migrations.AddField(
            model_name='meter',
            name='gpu_model',
            field=models.CharField(blank=True, default='', max_length=60),
        ),
        migrations.AddField(
            model_name='meter',
            name='is_finished',
            field=models.GeneratedField(db_persist=True, expression=models.ExpressionWrapper(models.Q(('closed_at__isnull', False), ('settled_until__gte', django.db.models.functions.comparison.Least('proven_until', 'funded_until', 'capped_at'))), output_field=models.BooleanField()), help_text='Closed, and all of it is charged.', output_field=models.BooleanField()),
        ),
        migrations.AddField(
            model_name='meter',
            name='mode',
            field=models.CharField(blank=True, default='', max_length=10),
        ),
        migrations.AddField(
            model_name='meter',
            name='most_micros',
            field=models.BigIntegerField(blank=True, help_text='Where the rate moves: the most it can be.', null=True),
        ),
        migrations.AddField(
            model_name='meter',
            name='rate_hours',
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='meter',
            name='steps_micros',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text='The rate from each step on.', size=None),
        ),
        migrations.AddField(
            model_name='meter',
            name='steps_us',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text='Continuous use, microseconds.', size=None),
        ),
        migrations.AlterField(
            model_name='meter',
            name='payee',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='billing.wallet'),
        ),
        migrations.AlterField(
            model_name='meter',
            name='payer',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='billing.wallet'),
        ),
        migrations.AddIndex(
            model_name='meter',
            index=models.Index(condition=models.Q(('is_finished', False)), fields=['payer', 'id'], name='meter_to_pay'),
        ),
        migrations.AddIndex(
            model_name='meter',
            index=models.Index(condition=models.Q(('is_finished', False)), fields=['payee'], name='meter_to_earn'),
        ),
        migrations.AddConstraint(
            model_name='meter',
            constraint=models.CheckConstraint(condition=models.Q(('rate_micros__gte', 0)), name='meter_rate_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='meter',
            constraint=models.CheckConstraint(condition=models.Q(('rate_hours__gte', 1)), name='meter_rate_is_for_hours'),
        ),
        migrations.AddConstraint(
            model_name='meter',
            constraint=models.CheckConstraint(condition=models.Q(('steps_us__len', models.F('steps_micros__len'))), name='meter_step_has_its_rate'),
        ),
        migrations.AddConstraint(
            model_name='meter',
            constraint=models.CheckConstraint(condition=models.Q(('base_us__gte', 0)), name='meter_base_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='meter',
            constraint=models.CheckConstraint(condition=models.Q(('settled_until__gte', models.F('opened_at')), models.Q(('settled_until__lte', models.F('proven_until')), models.Q(('calendar', True), ('closed_at__isnull', True)), _connector='OR')), name='meter_settles_only_proof'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.CheckConstraint(condition=models.Q(('kind', 'usage'), models.Q(models.Q(('kind__in', ['usage', 'credit']), _negated=True), ('period_from__isnull', True)), models.Q(('kind', 'credit'), ('period_from__lt', models.F('period_to')), ('rate_micros_per_hour__isnull', False)), _connector='OR'), name='credit_has_its_period'),
        ),
        migrations.AddField(
            model_name='usage',
            name='charge_entry',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='paid_usage', to='billing.entry'),
        ),
        migrations.AddField(
            model_name='usage',
            name='meter',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='usage', to='billing.meter'),
        ),
        migrations.AddField(
            model_name='usage',
            name='posting',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='usage', to='billing.posting'),
        ),
        migrations.AddField(
            model_name='usage',
            name='share_entry',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='earned_usage', to='billing.entry'),
        ),
        migrations.AddConstraint(
            model_name='usage',
            constraint=models.CheckConstraint(condition=models.Q(('period_from__lt', models.F('period_to'))), name='usage_has_its_period'),
        ),
        migrations.AddConstraint(
            model_name='usage',
            constraint=models.CheckConstraint(condition=models.Q(('charge_micros__gte', models.F('fee_micros')), ('fee_micros__gte', 0)), name='usage_fee_within_charge'),
        ),
        migrations.AddConstraint(
            model_name='usage',
            constraint=models.UniqueConstraint(fields=('meter', 'period_from'), name='no_second_charged_twice'),
        ),
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name='posting',
            name='meter',
        ),
        migrations.RunSQL(PRICES, NO_PRICES),
        migrations.RunSQL(WALLS, NO_WALLS),
    ]
