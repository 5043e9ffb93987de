"""Presence of hosts by their last report; time on a silent host is not charged after it."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from billing.constants import PROOF_BRIDGE
from marketplace.hosts.selectors import last_report


def has_reported(now: datetime) -> Q:
    """Return a condition for rows whose `host` has reported lately.

    After a restore from a backup, the host must also have reported what it holds.
    """
    return Q(host__last_seen_at__gte=now - PROOF_BRIDGE, host__awaits_epoch=False)


def is_silent(now: datetime) -> Q:
    """Return a condition for rows whose `host` reported last more than PROOF_BRIDGE ago."""
    return Q(host__last_seen_at__lt=now - PROOF_BRIDGE)


def paid_until(*, host_id: UUID, at: datetime) -> datetime:
    """Return until when storage on the host is charged that ends at `at`.

    It is the host's last report where that is too long ago, else `at`.
    """
    seen = last_report(host_id)
    return at if has_reported_at(seen, at) else seen


def has_reported_at(last_seen_at: datetime, moment: datetime) -> bool:
    """Return whether the host's last report is at most PROOF_BRIDGE before this moment."""
    return moment - last_seen_at <= PROOF_BRIDGE
