"""How many hosts have stopped reporting, and whether so many that the fault must be ours (D6)."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from marketplace.models import Host
from marketplace.policy import BREAKER_HOSTS, BREAKER_SHARE, BREAKER_WINDOW, HOST_SILENT_AFTER
from marketplace.states import HostState


@dataclass(frozen=True)
class Silence:
    """`watched` hosts are online or fell silent within the window; `lost` of them have stopped reporting."""

    watched: int
    lost: int

    @property
    def breaker_open(self) -> bool:
        return self.lost >= BREAKER_HOSTS and self.lost > BREAKER_SHARE * self.watched


def silence_at(now: datetime) -> Silence:
    """Counts those marked within the window too: a dead network takes hosts away a few in each sweep."""
    late = Q(state=HostState.ONLINE, last_seen_at__lt=now - HOST_SILENT_AFTER)
    marked = Q(state=HostState.SILENT, last_seen_at__gte=now - HOST_SILENT_AFTER - BREAKER_WINDOW)
    counts = Host.objects.aggregate(
        watched=Count("pk", filter=Q(state=HostState.ONLINE) | marked), lost=Count("pk", filter=late | marked)
    )
    return Silence(**counts)


def breaker_open(now: datetime) -> bool:
    """Whether stop, lost and metering moves must wait, since too many hosts fell silent together."""
    return silence_at(now).breaker_open
