"""Reads of the public ledger of hosts, and of the histories that scores are computed from."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from common.errors import NotFound
from marketplace.models import Host, Maintenance, ReliabilityEvent
from marketplace.reliability.scoring import (
    WINDOW,
    AnnouncedMaintenance,
    History,
    ReliabilityResult,
    compute_reliability,
    excused_spans,
    inside,
    merged,
    overlap,
    window_end,
)
from marketplace.states import HostState, ReliabilityKind

_MOMENTS = (ReliabilityKind.FAILED_START, ReliabilityKind.HOST_FAULT)


@dataclass(frozen=True)
class HostHistory:
    """History of one host, and its present score."""

    host_id: UUID
    shown_ppm: int | None
    history: History


@dataclass(frozen=True)
class LedgerEntry:
    """Public entry of the ledger; `excluded` is the part that maintenance excuses."""

    id: int
    kind: str
    starts_at: datetime
    ends_at: datetime | None
    detail: str
    lasted: timedelta
    excluded: timedelta
    counts: bool


@dataclass(frozen=True)
class Ledger:
    """A host's public ledger within the window, with the resulting score."""

    host: Host
    reckoning: ReliabilityResult
    entries: tuple[LedgerEntry, ...]
    starts: tuple[datetime, ...]
    maintenance: tuple[Maintenance, ...]
    until: datetime

    @property
    def notices(self) -> list[AnnouncedMaintenance]:
        return [_notice(window) for window in self.maintenance]


def host_histories(until: datetime) -> Iterator[HostHistory]:
    """Yield every host on the market with its history over the window until `until`, in four queries."""
    hosts = Host.objects.exclude(state=HostState.RETIRED).values_list("pk", "enrolled_at", "reliability_ppm")
    starts = _start_counts(until)
    moments: dict[str, dict[UUID, list[datetime]]] = {kind: defaultdict(list) for kind in _MOMENTS}
    outages: dict[UUID, list[tuple[datetime, datetime | None]]] = defaultdict(list)
    for host_id, kind, start, end in _events(until).values_list("host_id", "kind", "starts_at", "ends_at"):
        if kind == ReliabilityKind.OUTAGE:
            outages[host_id].append((start, end))
        else:
            moments[kind][host_id].append(start)
    notices = _notices(until)
    for host_id, enrolled_at, shown_ppm in hosts.order_by("pk"):
        history = History(
            enrolled_at=enrolled_at,
            starts=starts.get(host_id, 0),
            outages=outages.get(host_id, ()),
            failed_starts=moments[ReliabilityKind.FAILED_START].get(host_id, ()),
            host_faults=moments[ReliabilityKind.HOST_FAULT].get(host_id, ()),
            maintenance=notices.get(host_id, ()),
        )
        yield HostHistory(host_id, shown_ppm, history)


def reliability_ledger(host_id: UUID, now: datetime) -> Ledger:
    """Return all inputs of a host's score, and the score.

    Raises:
        NotFound: there is no such host.
    """
    host = Host.objects.filter(pk=host_id).first()
    if host is None:
        raise NotFound("This host doesn't exist.")
    until = window_end(now)
    windows = tuple(maintenance_of(host_id).filter(ends_at__gt=until - WINDOW))
    notices = [_notice(window) for window in windows]
    events = list(_events(until).filter(host=host).order_by("-starts_at", "-pk"))
    started = _starts(until).filter(host=host).order_by("starts_at", "pk")
    starts = tuple(started.values_list("starts_at", flat=True))
    history = History(
        enrolled_at=host.enrolled_at,
        starts=len(starts),
        outages=[(event.starts_at, event.ends_at) for event in events if event.kind == ReliabilityKind.OUTAGE],
        failed_starts=[event.starts_at for event in events if event.kind == ReliabilityKind.FAILED_START],
        host_faults=[event.starts_at for event in events if event.kind == ReliabilityKind.HOST_FAULT],
        maintenance=notices,
    )
    return Ledger(host, compute_reliability(history, until), tuple(_entries(events, notices, until)), starts, windows, until)


def maintenance_of(host_id: UUID) -> QuerySet[Maintenance]:
    """Return all maintenance announced for this host, also cancelled, by its beginning."""
    return Maintenance.objects.filter(host_id=host_id).order_by("starts_at", "pk")


def coming_maintenance(host_ids: Iterable[UUID], now: datetime) -> list[Maintenance]:
    """Return maintenance that is ahead or in progress and not cancelled."""
    ahead = Maintenance.objects.filter(host_id__in=list(host_ids), ends_at__gt=now, cancelled_at__isnull=True)
    return list(ahead.order_by("starts_at", "pk"))


def maintenance_to_start(now: datetime) -> list[Maintenance]:
    """Return maintenance that is due to begin and not over yet."""
    due = Maintenance.objects.filter(begun_at__isnull=True, cancelled_at__isnull=True, starts_at__lte=now, ends_at__gt=now)
    return list(due.order_by("starts_at", "pk"))


def maintenance_to_end(now: datetime) -> list[Maintenance]:
    """Return maintenance that has ended and is not recorded as over, even if its beginning was missed."""
    past = Maintenance.objects.filter(cancelled_at__isnull=True, over_at__isnull=True, ends_at__lte=now)
    return list(past.order_by("ends_at", "pk"))


def maintenance_to_notify() -> list[Maintenance]:
    """Return announcements and cancellations of which renters have not been notified."""
    return list(Maintenance.objects.filter(told_at__isnull=True).order_by("announced_at", "pk")[:100])


def excuses(window: Maintenance) -> bool:
    """Return whether events within it do not count against the host."""
    return _notice(window).excuses is not None


def _events(until: datetime) -> QuerySet[ReliabilityEvent]:
    """Return outages that overlap the window and failures within it."""
    since = until - WINDOW
    outage = Q(kind=ReliabilityKind.OUTAGE) & (Q(ends_at__gt=since) | Q(ends_at__isnull=True))
    failure = Q(kind__in=_MOMENTS, starts_at__gte=since)
    return ReliabilityEvent.objects.filter(outage | failure, starts_at__lt=until)


def _starts(until: datetime) -> QuerySet[ReliabilityEvent]:
    since = until - WINDOW
    return ReliabilityEvent.objects.filter(kind=ReliabilityKind.STARTED, starts_at__gte=since, starts_at__lt=until)


def _start_counts(until: datetime) -> Mapping[UUID, int]:
    return dict(_starts(until).order_by().values_list("host_id").annotate(Count("pk")))


def _notices(until: datetime) -> Mapping[UUID, list[AnnouncedMaintenance]]:
    found: dict[UUID, list[AnnouncedMaintenance]] = defaultdict(list)
    reach = Maintenance.objects.filter(starts_at__lt=until, ends_at__gt=until - WINDOW)
    columns = ("host_id", "announced_at", "starts_at", "ends_at", "cancelled_at")
    for host_id, *times in reach.values_list(*columns):
        found[host_id].append(AnnouncedMaintenance(*times))
    return found


def _notice(window: Maintenance) -> AnnouncedMaintenance:
    return AnnouncedMaintenance(window.announced_at, window.starts_at, window.ends_at, window.cancelled_at)


def _entries(
    events: Iterable[ReliabilityEvent], notices: Iterable[AnnouncedMaintenance], until: datetime
) -> Iterator[LedgerEntry]:
    excused = excused_spans(notices)
    for event in events:
        outage = event.kind == ReliabilityKind.OUTAGE
        span = (event.starts_at, event.ends_at or until) if outage else (event.starts_at, event.starts_at)
        lasted, excluded = span[1] - span[0], overlap(merged([span]), excused)
        counts = lasted > excluded if outage else not inside(event.starts_at, excused)
        yield LedgerEntry(event.pk, event.kind, event.starts_at, event.ends_at, event.detail, lasted, excluded, counts)
