"""Ledger of events that reliability is computed from, and the sweep that updates changed scores."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Greatest

from common.db.prepared import insert
from common.db.transactions import use_case
from marketplace.constants import RELIABILITY_BATCH
from marketplace.leasing.availability import refresh_offers
from marketplace.models import Host, Offer, ReliabilityEvent
from marketplace.reliability.scoring import compute_reliability, window_end
from marketplace.reliability.selectors import host_histories
from marketplace.reliability.silence_selectors import MASS_SILENCE
from marketplace.states import ReliabilityKind

_WRITE = """
UPDATE marketplace_host host SET reliability_ppm = score.ppm
  FROM unnest(%(hosts)s::uuid[], %(scores)s::int[]) AS score (host_id, ppm)
 WHERE host.id = score.host_id
"""

Change = tuple[UUID, int | None]


def record_start(*, host_id: UUID, subject: UUID, at: datetime) -> None:
    """Record that an instance started to run.

    `subject` is its run, opaque here; repeating it changes nothing.
    """
    _record(ReliabilityKind.STARTED, host_id, subject, at, "")


def record_failed_start(*, host_id: UUID, subject: UUID, at: datetime, detail: str) -> None:
    """Record that an instance failed before it ran, through the host's fault.

    `detail` is public: a code, never words of a renter.
    """
    _record(ReliabilityKind.FAILED_START, host_id, subject, at, detail)


def record_host_fault(*, host_id: UUID, subject: UUID, at: datetime, detail: str) -> None:
    """Record that a running instance failed through the host's fault."""
    _record(ReliabilityKind.HOST_FAULT, host_id, subject, at, detail)


def open_outage(*, host_id: UUID, at: datetime) -> None:
    """Open an outage of a host that has not reported since `at`, unless one is open."""
    outage = ReliabilityEvent(host_id=host_id, kind=ReliabilityKind.OUTAGE, starts_at=at)
    ReliabilityEvent.objects.bulk_create([outage], ignore_conflicts=True)


def close_outage(*, host_id: UUID, at: datetime) -> None:
    """Close the open outage, if any: the host reports again, or need not report any more."""
    still = ReliabilityEvent.objects.filter(host_id=host_id, kind=ReliabilityKind.OUTAGE, ends_at__isnull=True)
    still.update(ends_at=Greatest("starts_at", Value(at)))


def forgive_outages(*, since: datetime) -> int:
    """Give outages that began at `since` or later no length, because they were our fault (D6).

    They stay in the ledger.
    """
    still = ReliabilityEvent.objects.filter(kind=ReliabilityKind.OUTAGE, ends_at__isnull=True, starts_at__gte=since)
    return still.update(ends_at=F("starts_at"), detail=MASS_SILENCE)


def refresh_reliability(*, now: datetime) -> int:
    """Compute every host's score, write changed ones to hosts and offers, and return how many."""
    until = window_end(now)
    changes: list[Change] = []
    for found in host_histories(until):
        score = compute_reliability(found.history, until).score_ppm
        if score != found.shown_ppm:
            changes.append((found.host_id, score))
    changes.sort()
    for first in range(0, len(changes), RELIABILITY_BATCH):
        _write(changes[first : first + RELIABILITY_BATCH])
    return len(changes)


def _record(kind: ReliabilityKind, host_id: UUID, subject: UUID, at: datetime, detail: str) -> None:
    event = ReliabilityEvent(host_id=host_id, kind=kind, subject=subject, starts_at=at, detail=detail[:300])
    insert(event, unless_known=True)


def _write(changes: Sequence[Change]) -> None:
    """Write scores in one short transaction: hosts in primary key order, then their offers."""
    hosts = [host_id for host_id, _ in changes]
    with use_case():
        _lock_hosts(hosts)
        with connection.cursor() as cursor:
            cursor.execute(_WRITE, {"hosts": hosts, "scores": [score for _, score in changes]})
        refresh_offers(offer_ids=list(Offer.objects.filter(host_id__in=hosts).values_list("pk", flat=True)))


def _lock_hosts(host_ids: Sequence[UUID]) -> None:
    rows = Host.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=host_ids)
    list(rows.order_by("pk").values_list("pk"))
