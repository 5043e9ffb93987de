"""Host ports of instances: taken at rent, kept for life, free again when the instance is gone."""

from uuid import UUID

from django.db import connection

from instances.errors import NoPorts
from instances.models import InstancePort

# In any order, so that the next renter of a freed port is seldom met with the former one's host key.
_TAKE = """
INSERT INTO instances_instanceport (instance_id, host_id, host_port)
SELECT %(instance)s, %(host)s, port FROM generate_series(%(first)s::int, %(last)s::int) AS port
WHERE NOT EXISTS (
    SELECT FROM instances_instanceport taken WHERE taken.host_id = %(host)s AND taken.host_port = port
)
ORDER BY random() LIMIT %(count)s
RETURNING host_port
"""


def take_ports(*, instance_id: UUID, host_id: UUID, first: int, last: int, count: int) -> list[int]:
    """`count` free ports of the host, inside the transaction whose lease holds the host's row lock. Raises NoPorts."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, {"instance": instance_id, "host": host_id, "first": first, "last": last, "count": count})
        ports = [int(row[0]) for row in cursor.fetchall()]
    if len(ports) < count:
        raise NoPorts("The host has no free ports left for another instance. Choose another offer.")
    return ports


def free_ports(*, instance_id: UUID) -> None:
    InstancePort.objects.filter(instance_id=instance_id).delete()
