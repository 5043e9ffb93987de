"""What a renter has reported stands as it was written, and is decided once."""

from django.db import migrations

WALL = """
CREATE FUNCTION instances_fault_report_stands() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.verdict <> 'open' OR (NEW.id, NEW.instance_id, NEW.run_generation, NEW.detail, NEW.began_at, NEW.opened_at)
            IS DISTINCT FROM (OLD.id, OLD.instance_id, OLD.run_generation, OLD.detail, OLD.began_at, OLD.opened_at) THEN
        RAISE EXCEPTION 'report % stands as it was written', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fault_report_stands BEFORE UPDATE ON instances_faultreport
    FOR EACH ROW EXECUTE FUNCTION instances_fault_report_stands();

CREATE FUNCTION instances_fault_report_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'reports of faults are kept' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER fault_report_is_kept BEFORE DELETE OR TRUNCATE ON instances_faultreport
    FOR EACH STATEMENT EXECUTE FUNCTION instances_fault_report_kept();
"""
NO_WALL = """
DROP TRIGGER fault_report_is_kept ON instances_faultreport;
DROP FUNCTION instances_fault_report_kept();
DROP TRIGGER fault_report_stands ON instances_faultreport;
DROP FUNCTION instances_fault_report_stands();
"""


class Migration(migrations.Migration):
    dependencies = [("instances", "0021_reports_of_runs")]

    operations = [migrations.RunSQL(WALL, NO_WALL)]
