"""Opens, proves, caps and closes the meters of opaque sources, inside the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest, Least

from billing.errors import NoOpenHold
from billing.models import Hold, Meter, Wallet
from billing.policy import PLATFORM_FEE_BPS, PROOF_BRIDGE
from billing.pricing import funded_span
from billing.services.holds import open_hold, release_hold
from billing.services.wallets import open_wallet
from common.ids import new_uuid
from common.prepared import insert

# Locks the meters in pk order, moves the proof of all that are within the bridge, and names those that are not.
_PROVE = """
WITH seen AS (
    SELECT id, proven_until FROM billing_meter
    WHERE source_kind = %(kind)s AND source_id = ANY(%(sources)s::uuid[]) AND closed_at IS NULL
    ORDER BY id FOR NO KEY UPDATE
), proven AS (
    UPDATE billing_meter meter SET proven_until = %(at)s
    FROM seen
    WHERE meter.id = seen.id AND seen.proven_until < %(at)s AND seen.proven_until >= %(bridge_from)s
)
SELECT id FROM seen WHERE proven_until < %(bridge_from)s
"""

# What the hold still pays is what it holds less what the source's meters have proven and not yet been charged for.
_REMAINING_HOLDS = """
SELECT meter.id, hold.amount_micros - (
    SELECT sum(billing_cumulative(owing.rate_micros_per_hour, owing.opened_at, owing.due)
               - billing_cumulative(owing.rate_micros_per_hour, owing.opened_at, owing.settled_until))
    FROM (SELECT *, GREATEST(settled_until, LEAST(proven_until, funded_until, capped_at)) AS due
          FROM billing_meter any_meter
          WHERE any_meter.source_kind = meter.source_kind AND any_meter.source_id = meter.source_id
            AND (any_meter.id = meter.id OR settled_until < LEAST(proven_until, funded_until, capped_at))) AS owing
)
FROM billing_meter meter
JOIN billing_hold hold USING (source_kind, source_id)
WHERE meter.id = ANY(%(meters)s::uuid[]) AND hold.released_at IS NULL
"""

# What the source's meters say so far, and the wallets that a new one needs, NULL where there is none yet.
_BEFORE = """
SELECT coalesce(bool_or(closed_at IS NULL), false), max(proven_until),
       (SELECT id FROM billing_wallet WHERE owner_id = %(payer)s AND kind = 'renter'),
       (SELECT id FROM billing_wallet WHERE owner_id = %(payee)s AND kind = 'host'),
       (SELECT id FROM billing_wallet WHERE owner_id IS NULL AND kind = 'platform')
FROM billing_meter WHERE source_kind = %(kind)s AND source_id = %(source)s
"""


def open_meter(
    *,
    source_kind: str,
    source_id: UUID,
    payer_id: UUID,
    payee_id: UUID,
    label: str,
    rate_micros_per_hour: int,
    at: datetime,
) -> None:
    """Start charging the source at `at`; payer and payee are users. Does nothing while a meter of the source is open.

    Raises NoOpenHold when no money is held for it. The hold's lock keeps a release from slipping in between.
    """
    hold = _locked_hold(source_kind, source_id)
    with connection.cursor() as cursor:
        cursor.execute(_BEFORE, {"kind": source_kind, "source": source_id, "payer": payer_id, "payee": payee_id})
        is_open, latest, payer, payee, platform = cursor.fetchone()
    if is_open:
        return
    if platform is None:
        open_wallet(owner_id=None, kind=Wallet.Kind.PLATFORM)
    opened_at = at if latest is None else max(at, latest)  # the clock may have gone back; no second is charged twice
    meter = Meter(
        payer_id=payer or open_wallet(owner_id=payer_id).pk,
        payee_id=payee or open_wallet(owner_id=payee_id, kind=Wallet.Kind.HOST).pk,
        source_kind=source_kind,
        source_id=source_id,
        label=label,
        rate_micros_per_hour=rate_micros_per_hour,
        fee_bps=PLATFORM_FEE_BPS,
        opened_at=opened_at,
        proven_until=opened_at,
        settled_until=opened_at,
        funded_until=opened_at + funded_span(hold.amount_micros, rate_micros_per_hour),
    )
    insert(meter)


def prove_meters(*, source_kind: str, source_ids: Sequence[UUID], at: datetime) -> None:
    """The sources were seen running at `at`. A meter whose last proof is too old ends there and another one begins.

    Takes meter rows only, in pk order: call it in a transaction of its own or after all that locks wallets.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _PROVE, {"kind": source_kind, "sources": list(source_ids), "at": at, "bridge_from": at - PROOF_BRIDGE}
        )
        interrupted = [row[0] for row in cursor.fetchall()]
    if interrupted:
        _reopen_meters(interrupted, at)


def cap_meter(*, source_kind: str, source_id: UUID, at: datetime) -> None:
    """Charge nothing after `at`. The earliest cap wins; what is settled already stays."""
    Meter.objects.filter(source_kind=source_kind, source_id=source_id, closed_at__isnull=True).update(
        capped_at=Least(F("capped_at"), Greatest(F("settled_until"), at))  # PostgreSQL's LEAST passes over NULL
    )


def close_meter(*, source_kind: str, source_id: UUID) -> None:
    """Charge what is proven, close, and release the hold. Does nothing for a source that is closed already."""
    release_hold(source_kind=source_kind, source_id=source_id)


def _reopen_meters(meter_ids: Sequence[UUID], at: datetime) -> None:
    """Close interrupted meters at their last proof and open successors at `at` on what is left of their holds.

    Their rows are locked, so no settlement can consume a hold between reading it and using it; the closed ones are
    charged by the next `settle_meters`, out of the part of the hold that is left out here.
    """
    with connection.cursor() as cursor:
        cursor.execute(_REMAINING_HOLDS, {"meters": list(meter_ids)})
        remaining = dict(cursor.fetchall())
    interrupted = list(Meter.objects.filter(pk__in=meter_ids))
    Meter.objects.filter(pk__in=meter_ids).update(closed_at=F("proven_until"))
    Meter.objects.bulk_create(_successor(meter, at, int(remaining.get(meter.pk, 0))) for meter in interrupted)


def _successor(meter: Meter, at: datetime, held_micros: int) -> Meter:
    return Meter(
        id=new_uuid(),
        payer_id=meter.payer_id,
        payee_id=meter.payee_id,
        source_kind=meter.source_kind,
        source_id=meter.source_id,
        label=meter.label,
        rate_micros_per_hour=meter.rate_micros_per_hour,
        fee_bps=meter.fee_bps,
        opened_at=at,
        proven_until=at,
        settled_until=at,
        funded_until=at + funded_span(max(0, held_micros), meter.rate_micros_per_hour),
        capped_at=meter.capped_at,
    )


def _locked_hold(source_kind: str, source_id: UUID) -> Hold:
    hold = open_hold(source_kind, source_id)
    if hold is None:
        raise NoOpenHold(f"No money is held for this {source_kind}.")
    return hold
