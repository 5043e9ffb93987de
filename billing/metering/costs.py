"""Reads of what sources have cost, what is held for them, and which of them can no longer be paid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from billing.ledger.raw_rows import planned_rows, rows
from billing.models import Hold, Meter
from billing.models.metering import PAYABLE_UNTIL_SQL, PROVABLE

_HOUR = timedelta(hours=1)

# A meter's usage rows add up to its price at `settled_until` (I05, I07), so the ledger need not be read.
_COSTS = """
SELECT source_kind, source_id,
       sum(billing_meter_cost(meter, settled_until) - billing_meter_cost(meter, opened_at))::bigint,
       sum(billing_meter_cost(meter, ends) - billing_meter_cost(meter, settled_until))::bigint,
       sum(billing_elapsed_us(opened_at, ends)) / 1000000,
       ceil(sum(billing_meter_rate(meter, GREATEST(opened_at, %(now)s))::numeric / rate_hours)
            FILTER (WHERE closed_at IS NULL))::bigint,
       max(settled_until) FILTER (WHERE closed_at IS NULL),
       max(funded_until) FILTER (WHERE closed_at IS NULL),
       (SELECT sum(entry.amount_micros) FROM billing_posting posting
        JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.kind = 'refund'
        WHERE posting.kind = 'credit' AND posting.source_kind = meter.source_kind
          AND posting.source_id = meter.source_id)::bigint
FROM billing_meter meter
CROSS JOIN LATERAL (
    SELECT GREATEST(settled_until, LEAST(billing_meter_end(meter, %(now)s), %(now)s)) AS ends) AS chargeable
WHERE source_kind = ANY(%(kinds)s) AND source_id = ANY(%(sources)s::uuid[])
GROUP BY source_kind, source_id
"""

# Only those whose wallet cannot pay the next hour at its highest possible price: an outage of the renewal sweep must
# not stop a renter with enough money. What has not been proven for a while has the rest of its hold to go on with.
_EXHAUSTED = f"""
SELECT meter.source_id
FROM billing_meter meter
JOIN billing_wallet payer ON payer.id = meter.payer_id
WHERE meter.closed_at IS NULL AND meter.source_kind = %(kind)s
  AND meter.funded_until <= %(at)s AND meter.funded_until <= {PAYABLE_UNTIL_SQL}
  AND (%(source)s::uuid IS NULL OR meter.source_id = %(source)s)
  AND (meter.capped_at IS NULL OR meter.capped_at > meter.funded_until OR NOT calendar)
  AND payer.balance_micros - payer.held_micros
      < CASE WHEN most_micros IS NULL
             THEN billing_meter_cost(meter, funded_until + interval '1 hour') - billing_meter_cost(meter, funded_until)
             ELSE most_micros / rate_hours END
ORDER BY meter.funded_until, meter.id
"""  # noqa: S608  (its parts are constants)


@dataclass(frozen=True)
class Cost:
    """Cost so far of one source, or of several kinds with one id: an instance, its disk, its kept GPUs."""

    settled_micros: int = 0
    accrued_micros: int = 0
    seconds: int = 0  # of the first requested kind
    rate_micros_per_hour: int = 0  # of all kinds together; 0 unless something is metered now
    next_charge_at: datetime | None = None
    funded_until: datetime | None = None
    credited_micros: int = 0  # credited for host faults
    parts: Mapping[str, int] = field(default_factory=dict)  # kind of source -> its total cost

    @property
    def total_micros(self) -> int:
        return self.settled_micros + self.accrued_micros - self.credited_micros


def costs_of(*, source_kind: str | Sequence[str], source_ids: Sequence[UUID], now: datetime) -> dict[UUID, Cost]:
    """Return what each source has cost so far, all these kinds together; 0 for one without a meter."""
    kinds = [source_kind] if isinstance(source_kind, str) else list(source_kind)
    costs = {source_id: Cost() for source_id in source_ids}
    found = planned_rows(_COSTS, kinds=kinds, sources=list(source_ids), now=now)
    for row in sorted(found, key=lambda row: kinds.index(row[0])):
        kind, source_id, settled, accrued, seconds, rate, settled_until, funded_until, credited = row
        one = Cost(
            settled_micros=int(settled),
            accrued_micros=int(accrued),
            seconds=int(seconds),
            rate_micros_per_hour=int(rate or 0),
            next_charge_at=None if settled_until is None else settled_until + _HOUR,
            funded_until=funded_until,
            credited_micros=int(credited or 0),
        )
        costs[source_id] = _combined(costs[source_id], one, kind, first=kind == kinds[0])
    return costs


def exhausted_sources(*, source_kind: str, now: datetime, source_id: UUID | None = None) -> list[UUID]:
    """Return sources that still run although their hold is used up and their wallet cannot pay an hour.

    Call `extend_holds` first: a coupon, or the rest of a hold, may still pay. `source_id` limits the search to
    one source.
    """
    return [row[0] for row in rows(_EXHAUSTED, kind=source_kind, at=now, provable=PROVABLE, source=source_id)]


def open_holds(*, source_kind: str, source_ids: Sequence[UUID] | None = None) -> dict[UUID, int]:
    """Return the held amount of each source of this kind, or of these sources.

    Sources without an open hold are left out.
    """
    holds = Hold.objects.filter(source_kind=source_kind, released_at__isnull=True)
    chosen = holds if source_ids is None else holds.filter(source_id__in=source_ids)
    return dict(chosen.order_by().values_list("source_id", "amount_micros"))


def metered_sources(*, source_kind: str, source_ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the sources that have an open meter."""
    meters = Meter.objects.filter(source_kind=source_kind, source_id__in=source_ids, closed_at__isnull=True)
    return set(meters.order_by().values_list("source_id", flat=True))


def _combined(sum_so_far: Cost, one: Cost, kind: str, *, first: bool) -> Cost:
    return Cost(
        settled_micros=sum_so_far.settled_micros + one.settled_micros,
        accrued_micros=sum_so_far.accrued_micros + one.accrued_micros,
        seconds=one.seconds if first else sum_so_far.seconds,
        rate_micros_per_hour=sum_so_far.rate_micros_per_hour + one.rate_micros_per_hour,
        next_charge_at=_earliest(sum_so_far.next_charge_at, one.next_charge_at),
        funded_until=_earliest(sum_so_far.funded_until, one.funded_until),
        credited_micros=sum_so_far.credited_micros + one.credited_micros,
        parts={**sum_so_far.parts, kind: one.total_micros},
    )


def _earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)
