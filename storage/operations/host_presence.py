"""Which hosts are heard: what lies on one that is not costs nothing from its last report on."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from billing.constants import PROOF_BRIDGE
from marketplace.hosts.selectors import last_report


def is_heard(now: datetime) -> Q:
    """Of rows with a `host`: it has reported lately and, after a restore, has told what it holds."""
    return Q(host__last_seen_at__gte=now - PROOF_BRIDGE, host__awaits_epoch=False)


def is_silent(now: datetime) -> Q:
    """Of rows with a `host`: its last report is too long ago for the time since to be bridged."""
    return Q(host__last_seen_at__lt=now - PROOF_BRIDGE)


def paid_until(*, host_id: UUID, at: datetime) -> datetime:
    """Up to when what lies on the host is paid for, where it ends at `at`: the last report, if that is too long ago."""
    seen = last_report(host_id)
    return at if is_heard_at(seen, at) else seen


def is_heard_at(last_seen_at: datetime, moment: datetime) -> bool:
    """Whether the time from a host's last report to this moment is bridged."""
    return moment - last_seen_at <= PROOF_BRIDGE
