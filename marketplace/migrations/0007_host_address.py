"""A host's address is a host name or an IP address. Others are cleared, with an event for the owner and an incident."""

from django.db import migrations, models
from django.db.models import Q

# common.addresses.COLUMN_PATTERN as it was when this was written.
PATTERN = (
    r"^((?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
    r"|(?=[0-9a-f:]*:)[0-9a-f:]{2,39})$"
)

# Parameters: the pattern, twice.
CLEAR = """
UPDATE marketplace_host SET address = lower(address) WHERE address <> lower(address);
INSERT INTO marketplace_hostevent (host_id, kind, detail, actor, at)
SELECT id, 'address_cleared', 'The address that the agent gave was no host name or IP address.', 'market', now()
FROM marketplace_host WHERE address <> '' AND address !~ %(pattern)s;
INSERT INTO marketplace_incident (kind, subject, detail, opened_at)
SELECT 'address_cleared', 'host_' || replace(id::text, '-', ''),
       'The address that the agent gave was no host name or IP address: renters have no way in until it gives one.', now()
FROM marketplace_host WHERE address <> '' AND address !~ %(pattern)s
ON CONFLICT DO NOTHING;
UPDATE marketplace_host SET address = '' WHERE address <> '' AND address !~ %(pattern)s;
UPDATE marketplace_host SET port_last = 65535, port_first = least(port_first, 65535) WHERE port_last > 65535;
"""


def clear(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(CLEAR, {"pattern": PATTERN})
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0006_incident_closed_by")]

    operations = [
        migrations.RunPython(clear, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.CheckConstraint(
                condition=Q(port_last__lte=65_535), name="host_port_exists"
            ),
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.CheckConstraint(
                condition=Q(address="") | Q(address__regex=PATTERN), name="host_address"
            ),
        ),
    ]
