"""How many hosts have stopped reporting, and whether so many that the fault must be ours (D6)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q

from marketplace.models import Host, HostEvent, Incident, ReliabilityEvent
from marketplace.policy import (
    BREAKER_DAY,
    BREAKER_HOSTS,
    BREAKER_LASTS,
    BREAKER_SHARE,
    BREAKER_WINDOW,
    HOST_SILENT_AFTER,
)
from marketplace.states import HostState, ReliabilityKind

MASS_SILENCE: Final = "mass_silence"
"""The kind of the incident, and the reason in the ledger of an outage that was forgiven for it."""


@dataclass(frozen=True)
class Silence:
    """`watched` hosts are online or fell silent within the window; `lost` of them have stopped reporting.

    `spent`: the breaker has been open for as long as it may be within a day.
    """

    watched: int
    lost: int
    spent: bool = False

    @property
    def is_mass(self) -> bool:
        return self.lost >= BREAKER_HOSTS and self.lost > BREAKER_SHARE * self.watched

    @property
    def breaker_open(self) -> bool:
        return self.is_mass and not self.spent


def silence_at(now: datetime) -> Silence:
    """Counts those marked within the window too: a dead network takes hosts away a few in each sweep.

    Who was last heard of before a mass silence was ended by staff or by its time limit is gone, and is not counted.
    """
    late = Q(state=HostState.ONLINE, last_seen_at__lt=now - HOST_SILENT_AFTER)
    marked = Q(state=HostState.SILENT, last_seen_at__gte=now - HOST_SILENT_AFTER - BREAKER_WINDOW)
    gone_before = _cut_short_at()
    known = Q() if gone_before is None else Q(last_seen_at__gte=gone_before)
    counts = Host.objects.filter(known).aggregate(
        watched=Count("pk", filter=Q(state=HostState.ONLINE) | marked), lost=Count("pk", filter=late | marked)
    )
    silence = Silence(**counts)
    return Silence(**counts, spent=open_for(now) >= BREAKER_LASTS) if silence.is_mass else silence


def breaker_open(now: datetime) -> bool:
    """Whether what rests on silence must wait, since too many hosts fell silent together."""
    return silence_at(now).breaker_open


def hosts_held_back(now: datetime) -> frozenset[UUID]:
    """While the breaker is open the hosts that are silent: nothing is ended on them, and nobody is blamed. Else none.

    All other hosts are as on any other day: money that is used up, budgets, terms and deadlines are followed there.
    """
    if not breaker_open(now):
        return frozenset()
    silent = Host.objects.filter(state__in=[HostState.ONLINE, HostState.SILENT], last_seen_at__lt=now - HOST_SILENT_AFTER)
    return frozenset(silent.order_by().values_list("pk", flat=True))


def open_for(now: datetime) -> timedelta:
    """How long the breaker has been open within the last day, by its incidents."""
    since = now - BREAKER_DAY
    incidents = Incident.objects.filter(Q(closed_at=None) | Q(closed_at__gt=since), kind=MASS_SILENCE)
    spans = incidents.order_by().values_list("opened_at", "closed_at")
    return sum((max(timedelta(0), (end or now) - max(begin, since)) for begin, end in spans), timedelta(0))


def end_of_mass_silence() -> datetime | None:
    """When the last one was over."""
    ended = Incident.objects.filter(kind=MASS_SILENCE, closed_at__isnull=False)
    return ended.order_by("-closed_at").values_list("closed_at", flat=True).first()


def _cut_short_at() -> datetime | None:
    """When one was last ended although its hosts were still silent."""
    cut = Incident.objects.filter(kind=MASS_SILENCE, closed_at__isnull=False).exclude(closed_by="")
    return cut.order_by("-closed_at").values_list("closed_at", flat=True).first()


def unfrozen_at(host_id: UUID) -> datetime | None:
    """When it was last moved to online: by its own report, or by the operator who ended a freeze."""
    moves = HostEvent.objects.filter(host_id=host_id, kind=HostState.ONLINE)
    return moves.order_by("-id").values_list("at", flat=True).first()


def silent_without_outage() -> list[UUID]:
    """Hosts that are silent although no outage of theirs is open: it was forgiven, and they have not come back."""
    outage = ReliabilityEvent.objects.filter(host=OuterRef("pk"), kind=ReliabilityKind.OUTAGE, ends_at__isnull=True)
    silent = Host.objects.filter(~Exists(outage), state=HostState.SILENT)
    return list(silent.order_by("pk").values_list("pk", flat=True))
