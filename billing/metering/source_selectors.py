"""Reads of what is metered and held, by opaque source, for callers that know what a source is."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, Max, OuterRef

from billing.ledger.raw_rows import rows
from billing.models import Commitment, Hold, Meter, Wallet

_LAST = """
SELECT DISTINCT ON (source_id) source_id, base_us + billing_elapsed_us(opened_at, ends), ends
FROM billing_meter meter
CROSS JOIN LATERAL (
    SELECT GREATEST(opened_at, LEAST(billing_meter_end(meter, %(now)s), %(now)s)) AS ends) AS charged
WHERE source_kind = %(kind)s AND source_id = ANY(%(sources)s::uuid[]) AND mode <> 'cpu'
ORDER BY source_id, closed_at IS NULL DESC, proven_until DESC, opened_at DESC
"""


@dataclass(frozen=True)
class OpenMeter:
    """Proven time of a running meter, and the cap set by a stop."""

    proven_until: datetime
    capped_at: datetime | None
    opened_at: datetime
    settled_until: datetime

    @property
    def proves_any_time(self) -> bool:
        """Return whether any time is proven.

        A meter that was opened between two reports, as at the end of a term, proves none until the next one.
        """
        return self.proven_until > self.opened_at


def open_meters(*, source_kind: str) -> dict[UUID, OpenMeter]:
    rows = Meter.objects.filter(source_kind=source_kind, closed_at__isnull=True).order_by()
    found = rows.values_list("source_id", "proven_until", "capped_at", "opened_at", "settled_until")
    return {source_id: OpenMeter(proven, capped, opened, settled) for source_id, proven, capped, opened, settled in found}


def paused_sources(*, source_kind: str, source_ids: Collection[UUID]) -> set[UUID]:
    """Return sources that were metered and hold money but have no open meter.

    Their hosts were silent.
    """
    own = {"source_kind": source_kind, "source_id": OuterRef("source_id")}
    held = Hold.objects.filter(source_kind=source_kind, source_id__in=source_ids, released_at__isnull=True)
    waiting = held.filter(Exists(Meter.objects.filter(**own))).exclude(
        Exists(Meter.objects.filter(**own, closed_at__isnull=True))
    )
    return set(waiting.order_by().values_list("source_id", flat=True))


def last_openings(*, source_kind: str, source_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Return when the last meter of each source began; sources without one are left out."""
    rows = Meter.objects.filter(source_kind=source_kind, source_id__in=source_ids).order_by()
    return dict(rows.values_list("source_id").annotate(Max("opened_at")))


def locked_meter(*, source_kind: str, source_id: UUID) -> OpenMeter | None:
    """Return the source's open meter, locked until the transaction ends.

    Locked after wallets, before hosts and instances.
    """
    rows = Meter.objects.filter(source_kind=source_kind, source_id=source_id, closed_at__isnull=True)
    meter = rows.select_for_update(of=("self",), no_key=True).order_by("pk").first()
    return None if meter is None else OpenMeter(meter.proven_until, meter.capped_at, meter.opened_at, meter.settled_until)


def sources_in_use() -> set[tuple[str, UUID]]:
    """Return kind and id of everything that holds money or runs a meter."""
    holds = Hold.objects.filter(released_at__isnull=True).order_by().values_list("source_kind", "source_id")
    meters = Meter.objects.filter(closed_at__isnull=True).order_by().values_list("source_kind", "source_id")
    return {*holds, *meters}


def committed_among(term_ids: Iterable[UUID]) -> set[UUID]:
    """Return those of the terms that are paid by the hour and have not ended: a deposit is held for them."""
    return set(Commitment.objects.filter(term_id__in=term_ids, ended_at=None).values_list("term_id", flat=True))


def wallets_among(ids: Iterable[UUID]) -> set[UUID]:
    """Return those of the ids that are wallets: owed money is frozen under the id of its wallet."""
    return set(Wallet.objects.filter(pk__in=ids).values_list("pk", flat=True))


def continuous_use(*, source_kind: str, source_ids: Sequence[UUID], now: datetime) -> dict[UUID, tuple[int, datetime]]:
    """Return for each source its continuous use in microseconds, and when that use ended.

    Sources that never had a meter are left out.
    """
    found = rows(_LAST, kind=source_kind, sources=list(source_ids), now=now)
    return {source_id: (int(used_us), ends) for source_id, used_us, ends in found}
