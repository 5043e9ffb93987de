"""A freeze of money and what is held back for a report stand as they were written, until they are ended, once."""

from django.db import migrations

WALLS = """
CREATE FUNCTION billing_freeze_stands() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.lifted_at IS NOT NULL OR (NEW.id, NEW.reason, NEW.since) IS DISTINCT FROM (OLD.id, OLD.reason, OLD.since) THEN
        RAISE EXCEPTION 'freeze % stands as it was written', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER freeze_stands BEFORE UPDATE ON billing_moneyfreeze
    FOR EACH ROW EXECUTE FUNCTION billing_freeze_stands();

CREATE FUNCTION billing_holdback_stands() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.closed_at IS NOT NULL OR (NEW.id, NEW.owner_id, NEW.source_kind, NEW.source_id, NEW.opened_at)
            IS DISTINCT FROM (OLD.id, OLD.owner_id, OLD.source_kind, OLD.source_id, OLD.opened_at) THEN
        RAISE EXCEPTION 'holdback % stands as it was written', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER holdback_stands BEFORE UPDATE ON billing_holdback
    FOR EACH ROW EXECUTE FUNCTION billing_holdback_stands();

CREATE FUNCTION billing_decision_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are kept', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER freeze_is_kept BEFORE DELETE OR TRUNCATE ON billing_moneyfreeze
    FOR EACH STATEMENT EXECUTE FUNCTION billing_decision_kept();
CREATE TRIGGER holdback_is_kept BEFORE DELETE OR TRUNCATE ON billing_holdback
    FOR EACH STATEMENT EXECUTE FUNCTION billing_decision_kept();
"""
NO_WALLS = """
DROP TRIGGER holdback_is_kept ON billing_holdback;
DROP TRIGGER freeze_is_kept ON billing_moneyfreeze;
DROP FUNCTION billing_decision_kept();
DROP TRIGGER holdback_stands ON billing_holdback;
DROP FUNCTION billing_holdback_stands();
DROP TRIGGER freeze_stands ON billing_moneyfreeze;
DROP FUNCTION billing_freeze_stands();
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0025_holdbacks")]

    operations = [migrations.RunSQL(WALLS, NO_WALLS)]
