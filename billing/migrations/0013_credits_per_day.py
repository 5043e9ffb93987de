"""What is given back for one source in any 24 hours is bounded, whoever posts it."""

from django.db import migrations

BOUND = """
CREATE FUNCTION billing_credits_of_a_day() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER credits_of_a_day_are_bounded AFTER INSERT ON billing_posting
    FOR EACH ROW WHEN (NEW.kind = 'credit') EXECUTE FUNCTION billing_credits_of_a_day();
"""
NO_BOUND = """
DROP TRIGGER credits_of_a_day_are_bounded ON billing_posting;
DROP FUNCTION billing_credits_of_a_day();
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0012_debts_and_ties")]

    operations = [migrations.RunSQL(BOUND, NO_BOUND)]
