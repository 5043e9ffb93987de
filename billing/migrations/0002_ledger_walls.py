"""The ledger's walls and the price rules in SQL: append-only rows, balanced postings, indexes of what is still to charge."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Least

from billing.models import TsTzRange

PRICES = """
CREATE FUNCTION billing_elapsed_us(opened_at timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (extract(epoch FROM until - opened_at) * 1000000)::bigint;

CREATE FUNCTION billing_cumulative(rate bigint, opened_at timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN div(2::numeric * rate * billing_elapsed_us(opened_at, until) + 3600000000, 7200000000)::bigint;

CREATE FUNCTION billing_fee(charge bigint, fee_bps integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN div(2::numeric * charge * fee_bps + 10000, 20000)::bigint;
"""
NO_PRICES = """
DROP FUNCTION billing_fee(bigint, integer);
DROP FUNCTION billing_cumulative(bigint, timestamptz, timestamptz);
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
NO_WALLS = """
DROP TRIGGER entries_add_up_to_zero ON billing_entry;
DROP FUNCTION billing_posting_balances();
DROP TRIGGER entry_is_append_only ON billing_entry;
DROP TRIGGER posting_is_append_only ON billing_posting;
DROP FUNCTION billing_append_only();
"""

ACCRUING = Q(settled_until__lt=Least("proven_until", "funded_until", "capped_at"))


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]

    operations = [
        migrations.RunSQL(PRICES, NO_PRICES),
        migrations.RunSQL(WALLS, NO_WALLS),
        migrations.RemoveIndex(model_name="meter", name="meter_to_settle"),
        migrations.AddIndex(
            model_name="meter",
            index=models.Index(fields=["settled_until"], condition=ACCRUING & Q(closed_at__isnull=True), name="meter_to_settle"),
        ),
        migrations.AddIndex(
            model_name="meter",
            index=models.Index(fields=["id"], condition=ACCRUING & Q(closed_at__isnull=False), name="meter_to_finish"),
        ),
        migrations.AddIndex(
            model_name="meter", index=models.Index(fields=["payer"], condition=ACCRUING, name="meter_accruing"),
        ),
        migrations.RemoveConstraint(model_name="meter", name="meters_of_a_source_never_overlap"),
        migrations.AddConstraint(
            model_name="meter",
            constraint=ExclusionConstraint(
                name="meters_of_a_source_never_overlap",
                expressions=[
                    ("source_kind", RangeOperators.EQUAL),
                    ("source_id", RangeOperators.EQUAL),
                    (TsTzRange("opened_at", "proven_until"), RangeOperators.OVERLAPS),
                ],
                condition=Q(closed_at__isnull=False),
            ),
        ),
        migrations.AddConstraint(
            model_name="meter",
            constraint=models.CheckConstraint(
                condition=Q(funded_until__gte=F("settled_until")), name="meter_settles_only_funded"
            ),
        ),
    ]
