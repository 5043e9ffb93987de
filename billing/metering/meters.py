"""Opens, proves, reprices, caps and closes meters of opaque sources, inside the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest, Least

from billing.constants import PLATFORM_FEE_BPS, PROOF_BRIDGE, STEPS_AT_MOST
from billing.errors import NoOpenHold
from billing.ledger.wallets import open_wallet
from billing.metering.holds import open_hold, release_hold
from billing.models import Hold, Meter, Wallet
from billing.people.account_links import record_teams
from billing.pricing.rates import elapsed_microseconds, funded_span
from billing.pricing.tariffs import Tariff
from common.db.prepared import insert, run
from common.errors import InvalidInput
from common.ids import new_uuid

# Locks the meters by primary key, moves the proof of those within the bridge, and returns the others.
_PROVE = """
WITH seen AS (
    SELECT id, proven_until FROM billing_meter
    WHERE source_kind = %(kind)s AND source_id = ANY(%(sources)s::uuid[]) AND closed_at IS NULL AND NOT calendar
    ORDER BY id FOR NO KEY UPDATE
), proven AS (
    UPDATE billing_meter meter SET proven_until = %(at)s
    FROM seen
    WHERE meter.id = seen.id AND seen.proven_until < %(at)s AND seen.proven_until >= %(bridge_from)s
)
SELECT id FROM seen WHERE proven_until < %(bridge_from)s
"""

# A hold still pays its amount less what the source's meters have proven and not charged yet.
_REMAINING_HOLDS = """
SELECT asked.id, hold.amount_micros - (
    SELECT COALESCE(sum(billing_meter_cost(meter, GREATEST(settled_until, billing_meter_end(meter, %(at)s)))
                        - billing_meter_cost(meter, settled_until)), 0)
    FROM billing_meter meter
    WHERE meter.source_kind = asked.source_kind AND meter.source_id = asked.source_id AND NOT is_finished
      AND (%(own)s OR meter.id <> asked.id))
FROM billing_meter asked
JOIN billing_hold hold USING (source_kind, source_id)
WHERE asked.id = ANY(%(meters)s::uuid[]) AND hold.released_at IS NULL
"""

# The source's last meter, and the wallets that a new one needs; NULL where there is none yet.
_BEFORE = """
SELECT last.closed_at IS NULL AND last.id IS NOT NULL, last.proven_until, counted.used_us, counted.ends,
       (SELECT id FROM billing_wallet WHERE owner_id = %(payer)s AND kind = 'renter'),
       (SELECT id FROM billing_wallet WHERE owner_id = %(payee)s AND kind = 'host'),
       (SELECT id FROM billing_wallet WHERE owner_id IS NULL AND kind = 'platform')
FROM (VALUES (1)) AS one
LEFT JOIN LATERAL (
    SELECT id, closed_at, proven_until FROM billing_meter meter WHERE source_kind = %(kind)s AND source_id = %(source)s
    ORDER BY closed_at IS NULL DESC, proven_until DESC, opened_at DESC LIMIT 1) AS last ON true
LEFT JOIN LATERAL (
    SELECT base_us + billing_elapsed_us(opened_at, billing_meter_end(meter, %(at)s)) AS used_us,
           billing_meter_end(meter, %(at)s) AS ends
    FROM billing_meter meter
    WHERE %(counts)s AND source_kind = %(kind)s AND source_id = %(source)s AND mode <> 'cpu'
    ORDER BY closed_at IS NULL DESC, proven_until DESC, opened_at DESC LIMIT 1) AS counted ON true
"""


def open_meter(
    *,
    source_kind: str,
    source_id: UUID,
    payer_id: UUID,
    payee_id: UUID,
    label: str,
    tariff: Tariff,
    at: datetime,
    calendar: bool = False,
    from_escrow: bool = False,
    continue_within: timedelta | None = None,
) -> None:
    """Start charging the source at `at`; do nothing while a meter of the source is open.

    Payer and payee are users. A `calendar` meter is charged by the clock, every other one by its proofs. With
    `from_escrow`, prepaid money pays. Where the last meter ended at most `continue_within` ago, continuous use
    goes on counting. The hold's lock keeps a release from running in between. Raises NoOpenHold when no money is
    held.
    """
    hold = _locked_hold(source_kind, source_id)
    counts = continue_within is not None
    values = {"kind": source_kind, "source": source_id, "payer": payer_id, "payee": payee_id, "at": at, "counts": counts}
    with connection.cursor() as cursor:
        run(cursor, _BEFORE, values)
        is_open, latest, used_us, ends, payer, payee, platform = cursor.fetchone()
    if is_open:
        return
    if platform is None:
        open_wallet(owner_id=None, kind=Wallet.Kind.PLATFORM)
    opened_at = at if latest is None else max(at, latest)  # the clock may have gone back; no second is charged twice
    goes_on = continue_within is not None and ends is not None and opened_at - ends <= continue_within
    base_us = int(used_us) if goes_on else 0
    meter = Meter(
        payer_id=hold.wallet_id if from_escrow else payer or open_wallet(owner_id=payer_id).pk,
        payee_id=payee or open_wallet(owner_id=payee_id, kind=Wallet.Kind.HOST).pk,
        source_kind=source_kind,
        source_id=source_id,
        label=label,
        mode=hold.mode,
        gpu_model=hold.gpu_model,
        calendar=calendar,
        **_columns(tariff),
        base_us=base_us,
        fee_bps=PLATFORM_FEE_BPS,
        **dict.fromkeys(("opened_at", "proven_until", "settled_until"), opened_at),
        funded_until=opened_at + funded_span(hold.amount_micros, tariff, base_us),
    )
    insert(meter)
    record_teams(payer_id=payer_id, payee_id=payee_id)


def prove_meters(*, source_kind: str, source_ids: Sequence[UUID], at: datetime, bridge: timedelta | None = None) -> None:
    """Record that the sources were seen running at `at`.

    A meter whose last proof is older than `bridge` ends there and another begins; without `bridge`, the market's
    own limit (PROOF_BRIDGE) applies. Locks only meter rows, by primary key: call it in a transaction of its own,
    or after everything that locks wallets.
    """
    bridge_from = at - (PROOF_BRIDGE if bridge is None else bridge)
    with connection.cursor() as cursor:
        cursor.execute(_PROVE, {"kind": source_kind, "sources": list(source_ids), "at": at, "bridge_from": bridge_from})
        interrupted = [row[0] for row in cursor.fetchall()]
    if interrupted:
        _reopen_meters(interrupted, at)


def reprice_meter(*, source_kind: str, source_id: UUID, rate_micros: int, at: datetime) -> None:
    """Change the rate of the source's open meter from `at` on; earlier and charged time keeps its rate.

    Locks only the meter's row.

    Raises:
        InvalidInput: the rate is above the most that its hold was computed with.
    """
    open_meters = Meter.objects.filter(source_kind=source_kind, source_id=source_id, closed_at__isnull=True)
    meter = open_meters.select_for_update(of=("self",), no_key=True).first()
    if meter is None:
        return
    if meter.most_micros is not None and rate_micros > meter.most_micros:
        raise InvalidInput("A meter can't cost more than the agreed maximum.")
    begins = max(at, meter.opened_at, meter.settled_until)
    begin_us = meter.used_us(begins)
    if meter.tariff.rate_at(begin_us) == rate_micros and not any(step > begin_us for step in meter.steps_us):
        return
    if len(meter.steps_us) >= STEPS_AT_MOST:
        _succeed(meter, begins, rate_micros)
        return
    kept = [step for step in meter.tariff.steps if step[0] < begin_us]
    tariff = Tariff(meter.rate_micros, meter.rate_hours, (*kept, (begin_us, rate_micros)), meter.most_micros)
    same = Meter.objects.filter(pk=meter.pk)
    same.update(steps_us=[step[0] for step in tariff.steps], steps_micros=[step[1] for step in tariff.steps])
    if meter.most_micros is None:
        same.update(funded_until=_funded_until(meter, tariff))


def raise_most(*, source_kind: str, source_id: UUID, most_micros: int) -> None:
    """Raise the most that the source's open meter may cost from now on; it is never lowered.

    The caller has raised its hold before. Locks only the meter's row. Proven time keeps its price; only later
    time is computed at the new most.
    """
    open_meters = Meter.objects.filter(source_kind=source_kind, source_id=source_id, closed_at__isnull=True)
    meter = open_meters.select_for_update(of=("self",), no_key=True).first()
    if meter is None or meter.most_micros is None or meter.most_micros >= most_micros:
        return
    begins = max(meter.settled_until, meter.proven_until)
    left = max(0, _remaining([meter.pk], begins).get(meter.pk, 0))
    span = funded_span(left, Tariff(most_micros, meter.rate_hours))
    Meter.objects.filter(pk=meter.pk).update(most_micros=most_micros, funded_until=begins + span)


def cap_meter(*, source_kind: str, source_id: UUID, at: datetime) -> None:
    """Charge nothing after `at`; the earliest cap counts, and settled time stays charged."""
    Meter.objects.filter(source_kind=source_kind, source_id=source_id, closed_at__isnull=True).update(
        capped_at=Least(F("capped_at"), Greatest(F("settled_until"), at))  # PostgreSQL's LEAST ignores NULL
    )


def close_meter(*, source_kind: str, source_id: UUID, at: datetime | None = None) -> None:
    """Charge what is proven, close the meter, and release the hold; do nothing for a closed source.

    A calendar meter ends at `at`, by default now; settled time stays charged.
    """
    release_hold(source_kind=source_kind, source_id=source_id, at=at)


def _columns(tariff: Tariff) -> dict[str, object]:
    return {
        "rate_micros": tariff.rate_micros,
        "rate_hours": tariff.hours,
        "steps_us": [begins_us for begins_us, _rate in tariff.steps],
        "steps_micros": [rate for _begins_us, rate in tariff.steps],
        "most_micros": tariff.most_micros,
    }


def _reopen_meters(meter_ids: Sequence[UUID], at: datetime) -> None:
    """Close interrupted meters at their last proof and open successors on the rest of their holds.

    Their rows are locked, so no settlement can consume a hold between its reading and its use. The next
    `settle_meters` charges the closed ones from the part of the hold that is left out here.
    """
    remaining = _remaining(meter_ids, at)
    interrupted = list(Meter.objects.filter(pk__in=meter_ids))
    Meter.objects.filter(pk__in=meter_ids).update(closed_at=F("proven_until"))
    Meter.objects.bulk_create(_successor(meter, at, remaining.get(meter.pk, 0)) for meter in interrupted)


def _successor(meter: Meter, at: datetime, held_micros: int) -> Meter:
    """Return the meter that continues this one; with steps, it continues their count.

    An outage of the host must not count as the renter's interruption.
    """
    used_us = meter.used_us(meter.proven_until) if meter.steps_us else 0
    return Meter(
        id=new_uuid(),
        payer_id=meter.payer_id,
        payee_id=meter.payee_id,
        source_kind=meter.source_kind,
        source_id=meter.source_id,
        label=meter.label,
        mode=meter.mode,
        gpu_model=meter.gpu_model,
        calendar=meter.calendar,
        **_columns(meter.tariff),
        base_us=used_us,
        fee_bps=meter.fee_bps,
        opened_at=at,
        proven_until=at,
        settled_until=at,
        funded_until=at + funded_span(max(0, held_micros), meter.tariff, used_us),
        capped_at=meter.capped_at,
    )


def _succeed(meter: Meter, begins: datetime, rate_micros: int) -> None:
    """Replace a meter that has too many steps by one with the present rate alone, from its last proof on."""
    ends = max(meter.settled_until, begins) if meter.calendar else max(meter.settled_until, meter.proven_until)
    present = meter.tariff.rate_at(meter.used_us(ends))
    steps = ((elapsed_microseconds(ends, begins), rate_micros),) if begins > ends else ()
    tariff = Tariff(present if steps else rate_micros, meter.rate_hours, steps, meter.most_micros)
    remaining = _remaining([meter.pk], ends)
    Meter.objects.filter(pk=meter.pk).update(closed_at=ends, proven_until=ends)
    following = _successor(meter, ends, 0)
    for name, value in _columns(tariff).items():
        setattr(following, name, value)
    following.base_us = 0
    following.funded_until = ends + funded_span(max(0, remaining.get(meter.pk, 0)), tariff)
    following.save(force_insert=True)


def _remaining(meter_ids: Sequence[UUID], at: datetime, *, own: bool = True) -> dict[UUID, int]:
    """Return what the holds of these meters' sources still pay, after all that is owed.

    Without `own`, what the meter itself owes is not subtracted.
    """
    with connection.cursor() as cursor:
        cursor.execute(_REMAINING_HOLDS, {"meters": list(meter_ids), "at": at, "own": own})
        return {meter_id: int(micros) for meter_id, micros in cursor.fetchall()}


def _funded_until(meter: Meter, tariff: Tariff) -> datetime:
    """Return until when its hold lasts at another tariff, after what its predecessors still owe."""
    held = _remaining([meter.pk], meter.settled_until, own=False).get(meter.pk, 0)
    settled_us = meter.used_us(meter.settled_until)
    return meter.settled_until + funded_span(max(0, held), tariff, settled_us)


def _locked_hold(source_kind: str, source_id: UUID) -> Hold:
    hold = open_hold(source_kind, source_id)
    if hold is None:
        raise NoOpenHold(f"No money is held for this {source_kind}.")
    return hold
