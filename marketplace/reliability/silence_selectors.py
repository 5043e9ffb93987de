"""Counts of hosts and owners that stopped reporting.

They decide whether the fault must be ours (D6).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q

from marketplace.constants import (
    BREAKER_DAY,
    BREAKER_HOSTS,
    BREAKER_LASTS,
    BREAKER_OWNERS,
    BREAKER_SHARE,
    BREAKER_WINDOW,
    ENROLMENT_SEEN,
    HOST_SILENT_AFTER,
)
from marketplace.models import Host, HostEvent, Incident, ReliabilityEvent
from marketplace.states import HostState, ReliabilityKind, Verification

MASS_SILENCE: Final = "mass_silence"
"""Kind of the incident, and reason in the ledger of an outage that was forgiven for it."""


@dataclass(frozen=True)
class OwnerHosts:
    """Hosts of one owner and kind.

    `watched` are online or fell silent within the window; `lost` have stopped reporting.
    """

    owner_id: UUID
    verified: bool
    simulated: bool
    watched: int
    lost: int


@dataclass(frozen=True)
class Silence:
    """Numbers of hosts and owners, watched and lost.

    `owners_lost` adds up each owner's share of lost hosts. `spent` means that the circuit breaker has been open
    for the longest allowed time within a day.
    """

    watched: int
    lost: int
    owners: int
    owners_lost: Fraction
    spent: bool = False

    @property
    def is_mass(self) -> bool:
        """Return whether all hosts fell silent, or those of enough owners.

        No single owner can cause it while another reports.
        """
        if self.lost < BREAKER_HOSTS:
            return False
        many = self.owners_lost >= BREAKER_OWNERS and self.owners_lost > BREAKER_SHARE * self.owners
        return many or self.lost == self.watched

    @property
    def breaker_open(self) -> bool:
        return self.is_mass and not self.spent


def silence_at(now: datetime) -> Silence:
    """Return the present silence, including hosts that were marked within the window.

    A failing network loses a few hosts per sweep. A host whose last report was before a mass silence that staff or
    its time limit ended is gone, and is not counted.
    """
    silence = silence_of(_hosts_by_owner(now))
    return replace(silence, spent=open_for(now) >= BREAKER_LASTS) if silence.is_mass else silence


def silence_of(rows: Sequence[OwnerHosts]) -> Silence:
    """Return the silence of verified hosts where enough owners have some, else of all.

    Simulated hosts count only where there are no others. Anybody can enrol any number of hosts under any number
    of names; only those that passed their tests count.
    """
    real = [row for row in rows if not row.simulated] or list(rows)
    verified = [row for row in real if row.verified]
    owners_verified = len({row.owner_id for row in verified})
    watched, lost = Counter[UUID](), Counter[UUID]()
    for row in verified if owners_verified >= BREAKER_OWNERS else real:
        watched[row.owner_id] += row.watched
        lost[row.owner_id] += row.lost
    shares = (Fraction(lost[owner], hosts) for owner, hosts in watched.items())
    return Silence(watched.total(), lost.total(), len(watched), sum(shares, Fraction(0)))


def _hosts_by_owner(now: datetime) -> list[OwnerHosts]:
    """Return one row per owner and kind of host.

    A host whose agent is revoked or has never reported is no evidence about us.
    """
    late = Q(state=HostState.ONLINE, last_seen_at__lt=now - HOST_SILENT_AFTER)
    marked = Q(state=HostState.SILENT, last_seen_at__gte=now - HOST_SILENT_AFTER - BREAKER_WINDOW)
    gone_before = _cut_short_at()
    known = Q(agent_revoked_at=None, last_seen_at__gt=F("enrolled_at") + ENROLMENT_SEEN)
    known &= Q() if gone_before is None else Q(last_seen_at__gte=gone_before)
    rows = (
        Host.objects.filter(known & (Q(state=HostState.ONLINE) | marked))
        .order_by()
        .values_list("owner_id", "verification", "simulated")
        .annotate(watched=Count("pk"), lost=Count("pk", filter=late | marked))
    )
    return [
        OwnerHosts(owner_id, verification == Verification.VERIFIED, simulated, watched, lost)
        for owner_id, verification, simulated, watched, lost in rows
    ]


def circuit_breaker_open(now: datetime) -> bool:
    """Return whether the circuit breaker is open: consequences of silence must wait."""
    return silence_at(now).breaker_open


def silent_hosts_in_mass_silence(now: datetime) -> frozenset[UUID]:
    """Return the silent hosts while the circuit breaker is open, else none.

    Nothing is ended on them, and nobody is blamed. All other hosts are treated as usual: exhausted money,
    budgets, terms and deadlines have their effects there.
    """
    if not circuit_breaker_open(now):
        return frozenset()
    silent = Host.objects.filter(state__in=[HostState.ONLINE, HostState.SILENT], last_seen_at__lt=now - HOST_SILENT_AFTER)
    return frozenset(silent.order_by().values_list("pk", flat=True))


def open_for(now: datetime) -> timedelta:
    """Return how long the circuit breaker has been open within the last day, by its incidents."""
    since = now - BREAKER_DAY
    incidents = Incident.objects.filter(Q(closed_at=None) | Q(closed_at__gt=since), kind=MASS_SILENCE)
    spans = incidents.order_by().values_list("opened_at", "closed_at")
    return sum((max(timedelta(0), (end or now) - max(begin, since)) for begin, end in spans), timedelta(0))


def end_of_mass_silence() -> datetime | None:
    """Return when the last mass silence was over."""
    ended = Incident.objects.filter(kind=MASS_SILENCE, closed_at__isnull=False)
    return ended.order_by("-closed_at").values_list("closed_at", flat=True).first()


def _cut_short_at() -> datetime | None:
    """Return when a mass silence was last ended although its hosts were still silent."""
    cut = Incident.objects.filter(kind=MASS_SILENCE, closed_at__isnull=False).exclude(closed_by="")
    return cut.order_by("-closed_at").values_list("closed_at", flat=True).first()


def unfrozen_at(host_id: UUID) -> datetime | None:
    """Return when the host last became online: by its own report, or by the end of a freeze."""
    moves = HostEvent.objects.filter(host_id=host_id, kind=HostState.ONLINE)
    return moves.order_by("-id").values_list("at", flat=True).first()


def silent_without_outage() -> list[UUID]:
    """Return silent hosts without an open outage: it was forgiven, and they have not come back."""
    outage = ReliabilityEvent.objects.filter(host=OuterRef("pk"), kind=ReliabilityKind.OUTAGE, ends_at__isnull=True)
    silent = Host.objects.filter(~Exists(outage), state=HostState.SILENT)
    return list(silent.order_by("pk").values_list("pk", flat=True))
