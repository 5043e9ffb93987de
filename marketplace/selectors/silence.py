"""How many hosts have stopped reporting, and whether so many that the fault must be ours (D6)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q

from marketplace.models import Host, HostEvent, Incident, ReliabilityEvent
from marketplace.policy import BREAKER_HOSTS, BREAKER_SHARE, BREAKER_WINDOW, HOST_SILENT_AFTER
from marketplace.states import HostState, ReliabilityKind

MASS_SILENCE: Final = "mass_silence"
"""The kind of the incident, and the reason in the ledger of an outage that was forgiven for it."""


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


def end_of_mass_silence() -> datetime | None:
    """When the last one was over."""
    ended = Incident.objects.filter(kind=MASS_SILENCE, closed_at__isnull=False)
    return ended.order_by("-closed_at").values_list("closed_at", flat=True).first()


def unfrozen_at(host_id: UUID) -> datetime | None:
    """When it was last moved to online: by its own report, or by the operator who ended a freeze."""
    moves = HostEvent.objects.filter(host_id=host_id, kind=HostState.ONLINE)
    return moves.order_by("-id").values_list("at", flat=True).first()


def silent_without_outage() -> list[UUID]:
    """Hosts that are silent although no outage of theirs is open: it was forgiven, and they have not come back."""
    outage = ReliabilityEvent.objects.filter(host=OuterRef("pk"), kind=ReliabilityKind.OUTAGE, ends_at__isnull=True)
    silent = Host.objects.filter(~Exists(outage), state=HostState.SILENT)
    return list(silent.order_by("pk").values_list("pk", flat=True))
