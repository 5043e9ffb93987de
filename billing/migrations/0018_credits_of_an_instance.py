"""What is given back in any 24 hours is bounded for an instance, not for each source that it was billed under."""

from django.db import migrations, models
from django.db.models import Q

# Keys of credits are credit:<kind>:<id>:<run>, of an instance whatever it is billed as. A key of another form is bounded by
# its source alone.
BOUND = """
CREATE OR REPLACE FUNCTION billing_credits_of_a_day() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject text := substring(NEW.idempotency_key from '^credit:[a-z]+:[0-9a-f]{32}:');
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('credit ' || NEW.source_kind || NEW.source_id, 0));
    PERFORM pg_advisory_xact_lock(hashtextextended(subject, 0)) WHERE subject IS NOT NULL;
    IF (SELECT sum(period_to - period_from) FROM billing_posting
         WHERE kind = 'credit' AND created_at > NEW.created_at - interval '24 hours'
           AND (source_kind = NEW.source_kind AND source_id = NEW.source_id
                OR idempotency_key ~>=~ subject AND idempotency_key ~<~ (left(subject, -1) || ';'))) > interval '2 hours' THEN
        RAISE EXCEPTION 'more than 2 hours given back within a day for % % (%)', NEW.source_kind, NEW.source_id, subject
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
"""
BOUND_BY_SOURCE = """
CREATE OR REPLACE FUNCTION billing_credits_of_a_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('credit ' || NEW.source_kind || NEW.source_id, 0));
    IF (SELECT sum(period_to - period_from) FROM billing_posting
         WHERE kind = 'credit' AND source_kind = NEW.source_kind AND source_id = NEW.source_id
           AND created_at > NEW.created_at - interval '24 hours') > interval '2 hours' THEN
        RAISE EXCEPTION 'more than 2 hours given back within a day for % %', NEW.source_kind, NEW.source_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0017_proven_payout_accounts")]

    operations = [
        migrations.AddIndex(
            model_name="posting",
            index=models.Index(
                condition=Q(kind="credit"),
                fields=["idempotency_key"],
                name="posting_credit_key",
                opclasses=["varchar_pattern_ops"],
            ),
        ),
        migrations.RunSQL(BOUND, BOUND_BY_SOURCE),
    ]
