"""Whether an agent is refused stands at its host, where owners and staff see it. Every agent tells its facts anew."""

from django.db import migrations

CARRY = """
UPDATE marketplace_host host SET agent_revoked_at = identity.revoked_at, agent_keys = 1,
       state = CASE WHEN host.state = 'online' THEN 'silent' ELSE host.state END
FROM agent_gateway_agentidentity identity
WHERE identity.host_id = host.id AND identity.revoked_at IS NOT NULL;
-- What agents said before there were rules for it is said again, and taken by them.
UPDATE agent_gateway_agentidentity SET facts_known = false;
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):
    dependencies = [("agent_gateway", "0001_squashed_0003_speed_tests"), ("marketplace", "0010_revoked_agents")]

    operations = [
        migrations.RunSQL(CARRY, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="agentidentity", name="revoked_at"),
    ]
