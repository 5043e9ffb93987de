"""A host's past month for the pages about trust: starts, failures, outages, maintenance that was, is and will be."""

from datetime import datetime, timedelta
from uuid import uuid4

import time_machine

from marketplace.hosts.maintenance import announce_maintenance
from marketplace.models import Host, Maintenance, ReliabilityEvent
from marketplace.reliability.events import record_failed_start, record_host_fault, record_start, refresh_reliability

HOUR = timedelta(hours=1)


def add_history(host: Host, now: datetime) -> None:
    """Twenty-six days, so that the first of the thirty cells are empty."""
    Host.objects.filter(pk=host.pk).update(enrolled_at=now - timedelta(days=26, hours=3))
    for number in range(60):
        record_start(host_id=host.pk, subject=uuid4(), at=now - number * 9 * HOUR)
    record_failed_start(host_id=host.pk, subject=uuid4(), at=now - timedelta(days=5), detail="ssh_silent")
    record_host_fault(host_id=host.pk, subject=uuid4(), at=now - timedelta(days=11), detail="gpu_not_visible")
    for days, length, detail in ((19, 3 * HOUR, ""), (14.1, 9 * HOUR, ""), (8, 0 * HOUR, "mass_silence")):
        start = now - timedelta(days=days)
        ReliabilityEvent.objects.create(host=host, kind="outage", starts_at=start, ends_at=start + length, detail=detail)
    begin = now - timedelta(days=14)
    Maintenance.objects.create(
        host=host,
        category="power",
        detail="The UPS is replaced.",
        announced_at=begin - timedelta(days=3),
        starts_at=begin,
        ends_at=begin + 5 * HOUR,
        begun_at=begin,
        over_at=begin + 5 * HOUR,
        told_at=begin,
    )
    with time_machine.travel(now - timedelta(days=1), tick=False):
        announce_maintenance(
            actor_id=host.owner_id,
            host_id=host.pk,
            category="disk",
            detail="A second NVMe goes in.",
            starts_at=now + timedelta(days=3),
            ends_at=now + timedelta(days=3, hours=2),
        )
    refresh_reliability(now=now)
