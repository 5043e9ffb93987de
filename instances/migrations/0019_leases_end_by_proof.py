"""The lease of an instance that may still run never ends, unless its host was written off."""

from django.db import migrations

# Checked at the commit: the lease ends before its instance moves. One that holds GPUs again since is none that lost its own.
WALL = """
CREATE FUNCTION instances_lease_ends_by_proof() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
            SELECT FROM instances_instance instance
            WHERE instance.id = NEW.holder AND NOT instance.cpu_only
              AND (instance.state IN ('provisioning', 'running', 'stopping', 'starting', 'restarting')
                   OR instance.state IN ('failed', 'releasing') AND instance.stopped_at IS NULL
                   OR instance.state = 'gone' AND instance.observed_at IS DISTINCT FROM instance.released_at))
       AND NOT EXISTS (SELECT FROM marketplace_lease lease WHERE lease.holder = NEW.holder AND lease.released_at IS NULL)
       AND NOT EXISTS (
            SELECT FROM marketplace_offer offer JOIN marketplace_hostwriteoff written ON written.host_id = offer.host_id
            WHERE offer.id = NEW.offer_id) THEN
        RAISE EXCEPTION 'lease % ended, and nothing proves that instance % does not run', NEW.id, NEW.holder
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lease_ends_by_proof AFTER UPDATE OF released_at ON marketplace_lease
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.released_at IS NULL AND NEW.released_at IS NOT NULL)
    EXECUTE FUNCTION instances_lease_ends_by_proof();
"""
NO_WALL = """
DROP TRIGGER lease_ends_by_proof ON marketplace_lease;
DROP FUNCTION instances_lease_ends_by_proof();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0018_cut_off_by_its_host'),
        ('marketplace', '0014_write_offs'),
    ]

    operations = [migrations.RunSQL(WALL, NO_WALL)]
