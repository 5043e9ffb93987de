"""Hosts that are written off: the decision stands for good, and no other makes the leases of a retired host end."""

import common.clock
import common.printable
import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


WALLS = """
CREATE FUNCTION marketplace_write_off_stands() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.settled_at IS NOT NULL OR (NEW.host_id, NEW.decided_by_id, NEW.reason, NEW.last_seen_at, NEW.at)
            IS DISTINCT FROM (OLD.host_id, OLD.decided_by_id, OLD.reason, OLD.last_seen_at, OLD.at) THEN
        RAISE EXCEPTION 'the write-off of host % stands as it was written', OLD.host_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER write_off_stands BEFORE UPDATE ON marketplace_hostwriteoff
    FOR EACH ROW EXECUTE FUNCTION marketplace_write_off_stands();

CREATE FUNCTION marketplace_write_off_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'write-offs are kept' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER write_off_is_kept BEFORE DELETE OR TRUNCATE ON marketplace_hostwriteoff
    FOR EACH STATEMENT EXECUTE FUNCTION marketplace_write_off_kept();

CREATE FUNCTION marketplace_lease_ends_lawfully() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.release_reason = 'written off' OR EXISTS (
            SELECT FROM marketplace_offer offer JOIN marketplace_host host ON host.id = offer.host_id
            WHERE offer.id = NEW.offer_id AND host.state = 'retired'))
       AND NOT EXISTS (
            SELECT FROM marketplace_offer offer JOIN marketplace_hostwriteoff written ON written.host_id = offer.host_id
            WHERE offer.id = NEW.offer_id) THEN
        RAISE EXCEPTION 'lease % ends by the proof of its host, or when that was written off', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER lease_ends_lawfully BEFORE UPDATE OF released_at ON marketplace_lease
    FOR EACH ROW WHEN (OLD.released_at IS NULL AND NEW.released_at IS NOT NULL)
    EXECUTE FUNCTION marketplace_lease_ends_lawfully();

CREATE FUNCTION marketplace_host_retires_empty() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM marketplace_lease lease JOIN marketplace_offer offer ON offer.id = lease.offer_id
               WHERE offer.host_id = NEW.id AND lease.released_at IS NULL)
       AND NOT EXISTS (SELECT FROM marketplace_hostwriteoff written WHERE written.host_id = NEW.id) THEN
        RAISE EXCEPTION 'host % holds leases: it may be written off, and not simply retired', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER host_retires_empty BEFORE UPDATE OF state ON marketplace_host
    FOR EACH ROW WHEN (NEW.state = 'retired' AND OLD.state <> 'retired')
    EXECUTE FUNCTION marketplace_host_retires_empty();
"""
NO_WALLS = """
DROP TRIGGER host_retires_empty ON marketplace_host;
DROP FUNCTION marketplace_host_retires_empty();
DROP TRIGGER lease_ends_lawfully ON marketplace_lease;
DROP FUNCTION marketplace_lease_ends_lawfully();
DROP TRIGGER write_off_is_kept ON marketplace_hostwriteoff;
DROP FUNCTION marketplace_write_off_kept();
DROP TRIGGER write_off_stands ON marketplace_hostwriteoff;
DROP FUNCTION marketplace_write_off_stands();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0013_epochs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='host',
            name='leftovers_of',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, db_default=[], default=list, help_text='Hosts written off that had its GPUs: nothing is rented before their containers are proven gone.', size=None, verbose_name='leftovers of'),
        ),
        migrations.CreateModel(
            name='HostWriteOff',
            fields=[
                ('host', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='write_off', serialize=False, to='marketplace.host', verbose_name='host')),
                ('reason', common.printable.PrintableField(max_length=300, verbose_name='reason')),
                ('last_seen_at', models.DateTimeField(help_text='Nothing is charged for the time after it.', verbose_name='last report')),
                ('at', models.DateTimeField(default=common.clock.now, verbose_name='time')),
                ('settled_at', models.DateTimeField(blank=True, help_text="Nothing of the host's is left to be ended.", null=True, verbose_name='settled at')),
                ('decided_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='decided by')),
            ],
            options={
                'verbose_name': 'write-off',
                'verbose_name_plural': 'write-offs',
                'ordering': ('-at',),
                'indexes': [models.Index(condition=models.Q(('settled_at__isnull', True)), fields=['at'], name='write_off_to_settle')],
                'constraints': [common.printable.Printable(column='reason', name='write_off_reason_is_printable'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='write_off_says_why')],
            },
        ),
        migrations.RunSQL(WALLS, NO_WALLS),
    ]
