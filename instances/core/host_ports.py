"""Host ports of instances: taken at rent, kept for life, freed when the instance is gone."""

from uuid import UUID

from django.conf import settings
from django.db import connection

from common.db.prepared import run
from instances.errors import NoPorts
from instances.models import InstancePort

# In random order, so that SSH clients of the next renter of a port seldom meet the former one's host key. EXCEPT reads
# the taken ports once whatever was known of the table when the plan was made; NOT EXISTS, planned for an empty table,
# reads them once for each port.
_TAKE_FREE = """
INSERT INTO instances_instanceport (instance_id, host_id, host_port)
SELECT %(instance)s, %(host)s, port FROM (
    SELECT generate_series(%(first)s::int, %(last)s::int) AS port
    EXCEPT SELECT host_port FROM instances_instanceport WHERE {whose}
) AS free
ORDER BY random() LIMIT %(count)s
RETURNING host_port
"""
_TAKE = _TAKE_FREE.format(whose="host_id = %(host)s")
# Hosts behind NAT share the relay's ports, so transactions that take some take turns by an advisory lock.
_TAKE_RELAYED = _TAKE_FREE.format(whose="host_port BETWEEN %(first)s AND %(last)s")
_LOCK_RELAY_PORTS = "SELECT pg_advisory_xact_lock(hashtext('instances.relay-ports'))"


def take_ports(*, instance_id: UUID, host_id: UUID, first: int, last: int, count: int) -> list[int]:
    """Take `count` free ports of the host, or raise NoPorts.

    Call it inside the transaction whose lease holds the lock on the host's row.
    """
    relayed = (first, last) == settings.RELAY_TCP_PORTS
    with connection.cursor() as cursor:
        if relayed:
            cursor.execute(_LOCK_RELAY_PORTS)
        which = {"instance": instance_id, "host": host_id, "first": first, "last": last, "count": count}
        run(cursor, _TAKE_RELAYED if relayed else _TAKE, which)
        ports = [int(row[0]) for row in cursor.fetchall()]
    if len(ports) < count:
        raise NoPorts("The host has no free ports for another instance. Choose another offer.")
    return ports


def free_ports(*, instance_id: UUID) -> None:
    InstancePort.objects.filter(instance_id=instance_id).delete()
