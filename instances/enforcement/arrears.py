"""Instances and data that depend on a wallet's standing, as billing's sweep of standings needs them."""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from billing.constants import RELEASE_TOLD_DAYS
from billing.standing.mail import Announcement, announce_releases
from billing.standing.services import ArrearsItem, update_standings
from instances.models import Instance
from instances.states import InstanceState
from storage.volumes.selectors import storage_ending

UNPAID: Final = ("funds_exhausted", "term_unpaid", "keeping_unpaid")
"""Kinds of events with which the market stops something that nobody pays for."""

_ARREARS_ITEMS = """
SELECT renter_id, min(rate_micros_per_hour), min(release_at)
FROM instances_instance instance
WHERE state IN ('stopping', 'stopped') AND EXISTS (
    SELECT FROM instances_instanceevent event
    WHERE event.instance_id = instance.id AND event.kind = ANY(%(unpaid)s) AND event.at >= instance.stop_requested_at)
GROUP BY renter_id
"""


def enforce_standings(*, now: datetime) -> int:
    """Evaluate the standing of all wallets and return how many have changed their state."""
    with connection.cursor() as cursor:
        cursor.execute(_ARREARS_ITEMS, {"unpaid": list(UNPAID)})
        stakes = [ArrearsItem(*row) for row in cursor.fetchall()]
    return update_standings(stakes=stakes, now=now)


def announce_data_ends(*, now: datetime) -> int:
    """Announce the deletion of data and unpaid storage 7, 3 and 1 days ahead; return how many were sent.

    An owner is told once for each of these steps.
    """
    soon = now + timedelta(days=max(RELEASE_TOLD_DAYS))
    kept = Instance.objects.filter(
        state__in=[InstanceState.STOPPED, InstanceState.FAILED], release_at__gt=now, release_at__lte=soon
    )
    rows = kept.order_by("release_at").values_list("renter_id", "pk", "name", "release_at")
    dated = [(*row[:3], row[3]) for row in rows if row[3] is not None]
    announcements = [Announcement(*row, days=_days(row[3] - now)) for row in dated]
    announcements += [
        Announcement(row.owner_id, row.id, row.name, row.delete_at, days=_days(row.delete_at - now), of=row.kind)
        for row in storage_ending(now=now, within=soon - now)
    ]
    return announce_releases(announcements=announcements, now=now)


def _days(left: timedelta) -> int:
    """Return the smallest announcement that is due.

    After an outage of this sweep nobody is told a larger number of days that is no longer true.
    """
    return min(days for days in RELEASE_TOLD_DAYS if left <= timedelta(days=days))
