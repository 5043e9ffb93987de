"""Renews the holds of meters about to run out, counting what is really left; many in a few statements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from billing.budgets.selectors import STOPPED_KINDS, BudgetHeadrooms, budget_headrooms_of
from billing.constants import HOLD_RENEWAL_LEAD, RENEW_BATCH
from billing.coupons import redemption
from billing.coupons.selectors import coupon_micros
from billing.ledger.postings import lock_wallets
from billing.models.metering import PAYABLE_UNTIL_SQL, PROVABLE
from billing.pricing.rates import charge, elapsed_microseconds, funded_span
from billing.pricing.tariffs import Scope, Tariff
from common.db.transactions import use_case

_HOUR = timedelta(hours=1)
_WORTH_WRITING = timedelta(seconds=1)
_PAYERS_TO_RENEW = f"""
SELECT DISTINCT payer_id FROM billing_meter meter JOIN billing_wallet payer ON payer.id = payer_id
WHERE closed_at IS NULL AND funded_until <= %(at)s AND funded_until <= {PAYABLE_UNTIL_SQL} AND payer.owner_id IS NOT NULL
  AND (capped_at IS NULL OR calendar AND capped_at > funded_until)
"""  # noqa: S608  (its parts are constants of this module)

# Includes what the source's other meters have proven and not charged yet: the hold pays that first.
_RENEWABLE = f"""
SELECT meter.id, hold.id, hold.wallet_id, meter.source_kind, meter.source_id, meter.mode, meter.gpu_model,
       meter.rate_micros, meter.rate_hours, meter.steps_us, meter.steps_micros, meter.most_micros, meter.base_us,
       meter.opened_at, meter.settled_until, meter.funded_until, {PAYABLE_UNTIL_SQL},
       hold.amount_micros - (
           SELECT COALESCE(sum(billing_meter_cost(other, billing_meter_end(other, %(at)s))
                               - billing_meter_cost(other, other.settled_until)), 0)
           FROM billing_meter other
           WHERE other.source_kind = meter.source_kind AND other.source_id = meter.source_id
             AND NOT other.is_finished AND other.id <> meter.id)::bigint
FROM billing_meter meter
JOIN billing_hold hold USING (source_kind, source_id)
WHERE meter.closed_at IS NULL AND meter.funded_until <= %(at)s AND meter.funded_until <= {PAYABLE_UNTIL_SQL}
  AND hold.released_at IS NULL
  AND (meter.capped_at IS NULL OR meter.calendar AND meter.capped_at > meter.funded_until)
  AND hold.wallet_id = ANY(%(wallets)s::uuid[])
ORDER BY meter.funded_until, meter.id
FOR NO KEY UPDATE OF meter SKIP LOCKED
"""  # noqa: S608  (its parts are constants of this module)

_WITH_COUPONS = """
SELECT wallet.id, wallet.owner_id FROM billing_wallet wallet
WHERE wallet.id = ANY(%(wallets)s::uuid[])
  AND EXISTS (SELECT FROM billing_coupon coupon WHERE coupon.owner_id = wallet.owner_id AND remaining_micros > 0)
"""

_RENEW = """
WITH renewal AS (
    SELECT * FROM unnest(%(meters)s::uuid[], %(holds)s::uuid[], %(wallets)s::uuid[], %(until)s::timestamptz[],
                         %(amounts)s::bigint[]) AS renewal (meter_id, hold_id, wallet_id, until, amount)
), prolonged AS (
    UPDATE billing_meter meter SET funded_until = until
    FROM renewal WHERE meter.id = renewal.meter_id
), raised AS (
    UPDATE billing_hold hold SET amount_micros = amount_micros + amount
    FROM renewal WHERE hold.id = renewal.hold_id AND amount > 0
)
UPDATE billing_wallet wallet SET held_micros = held_micros + total.amount
FROM (SELECT wallet_id, sum(amount) AS amount FROM renewal GROUP BY wallet_id HAVING sum(amount) > 0) AS total
WHERE wallet.id = total.wallet_id
"""


@dataclass(frozen=True)
class _Renewable:
    """Open meter whose hold is nearly used up."""

    meter_id: UUID
    hold_id: UUID
    wallet_id: UUID
    source_kind: str
    source_id: UUID
    scope: Scope
    tariff: Tariff
    base_us: int
    opened_at: datetime
    settled_until: datetime
    funded_until: datetime
    needed_until: datetime  # the end of what may be charged before the next passes
    held_micros: int  # for this meter, without what the source's other meters owe

    def missing_micros(self, until: datetime, now: datetime) -> int:
        """Return what its hold lacks to pay the worst case from the last settlement up to `until`."""
        return self._worst_charge(until, now) - self.held_micros

    def lasts_until(self, now: datetime) -> datetime:
        """Return until when its hold lasts without more money."""
        left = -self.missing_micros(self.funded_until, now)
        if left <= 0:
            return self.funded_until
        return self.funded_until + funded_span(left - 1 if self._moves else left, self.tariff, self._used(self.funded_until))

    @property
    def _moves(self) -> bool:
        return self.tariff.most_micros is not None

    def _worst_charge(self, until: datetime, now: datetime) -> int:
        """Return the highest possible charge up to `until`.

        Where the rate changes, past use has its known price, the rest costs the most, and one micro-unit is
        added for rounding.
        """
        if not self._moves:
            return charge(self.tariff, self._used(self.settled_until), self._used(until))
        known = min(until, max(self.settled_until, now - HOLD_RENEWAL_LEAD))
        rest = charge(self.tariff.worst, 0, elapsed_microseconds(known, until)) + 1
        return charge(self.tariff, self._used(self.settled_until), self._used(known)) + rest

    def _used(self, until: datetime) -> int:
        return self.base_us + elapsed_microseconds(self.opened_at, until)


@dataclass(frozen=True)
class _Renewal:
    """New end of a meter's funded time, and the amount that it adds to the hold."""

    meter: _Renewable
    until: datetime
    amount_micros: int


def extend_holds(*, now: datetime) -> int:
    """Hold one more hour for each open meter about to run out whose wallet can pay; return how many.

    The rest of a hold whose use cost less than the most is counted first, and coupons are drawn before cash.
    After an outage of this sweep, a meter gets at once as many hours as it needs to be ahead of `now` again. One that
    is not proven any more, since its host is silent, gets none: its hold stays as it is until it is proven again.
    Where the wallet cannot pay an hour, the meter runs on for as long as its hold really lasts.
    """
    soon = now + HOLD_RENEWAL_LEAD
    with connection.cursor() as cursor:
        cursor.execute(_PAYERS_TO_RENEW, _moments(soon))
        payers = [row[0] for row in cursor.fetchall()]
    batches = [payers[start : start + RENEW_BATCH] for start in range(0, len(payers), RENEW_BATCH)]
    return sum(_extend_batch(batch, soon, now) for batch in batches)


def _extend_batch(wallet_ids: Sequence[UUID], soon: datetime, now: datetime) -> int:
    with use_case():
        wallets = lock_wallets(wallet_ids)
        spendable = {wallet.pk: wallet.spendable_micros for wallet in wallets.values()}
        with connection.cursor() as cursor:
            cursor.execute(_RENEWABLE, _moments(soon) | {"wallets": list(wallet_ids)})
            meters = [_renewable(row) for row in cursor.fetchall()]
            cursor.execute(_WITH_COUPONS, {"wallets": list(wallet_ids)})
            owners = dict(cursor.fetchall())
            headrooms = budget_headrooms_of(wallet_ids, now=now, lock=True)
            renewals = list(_renewals(meters, spendable, owners, headrooms, now=now))
            if renewals:
                cursor.execute(_RENEW, _columns(renewals))
    return len(renewals)


def _moments(soon: datetime) -> dict[str, Any]:
    """Return the parameters of PAYABLE_UNTIL_SQL."""
    return {"at": soon, "provable": PROVABLE}


def _renewable(row: tuple[Any, ...]) -> _Renewable:
    meter_id, hold_id, wallet_id, kind, source_id, mode, gpu_model, rate, hours, steps_us, steps, most, *rest = row
    tariff = Tariff(rate, hours, tuple(zip(steps_us, steps, strict=True)), most)
    return _Renewable(meter_id, hold_id, wallet_id, kind, source_id, Scope(mode, gpu_model), tariff, *rest)


def _renewals(
    meters: Sequence[_Renewable],
    spendable: dict[UUID, int],
    owners: dict[UUID, UUID],
    headrooms: BudgetHeadrooms,
    *,
    now: datetime,
) -> Iterator[_Renewal]:
    """Yield renewals in the order in which meters run out.

    A meter that is too expensive, or that a hard budget refuses, does not block those after it.
    """
    for meter in meters:
        wanted = _within_budgets(meter, headrooms, (meter.needed_until - meter.funded_until) // _HOUR + 1, now)
        owner_id = owners.get(meter.wallet_id)
        coupons = coupon_micros(owner_id, meter.scope) if owner_id else 0
        hours = _affordable(meter, wanted, spendable[meter.wallet_id] + coupons, now)
        until = meter.funded_until + hours * _HOUR if hours else meter.lasts_until(now)
        if until - meter.funded_until >= _WORTH_WRITING:
            amount = max(0, meter.missing_micros(until, now)) if hours else 0
            if owner_id and coupons:  # all that is drawn is held: coupon money is never in a wallet as cash
                spendable[meter.wallet_id] += _drawn(meter, owner_id, amount)
            spendable[meter.wallet_id] -= amount
            headrooms.bind(meter.wallet_id, meter.source_id, amount)
            yield _Renewal(meter, until, amount)


def _within_budgets(meter: _Renewable, headrooms: BudgetHeadrooms, wanted: int, now: datetime) -> int:
    """Return the hours that hard budgets allow.

    Kept data and agreed terms go on in any case: a budget counts them and stops the rest.
    """
    if meter.source_kind not in STOPPED_KINDS:
        return wanted

    def missing(hours: int) -> int:
        return meter.missing_micros(meter.funded_until + hours * _HOUR, now)

    return headrooms.most_hours(meter.wallet_id, meter.source_id, wanted, missing)


def _affordable(meter: _Renewable, wanted: int, spendable: int, now: datetime) -> int:
    """Return the most whole hours, up to `wanted`, that hold and wallet can pay together."""
    fewest, most = 0, wanted
    while fewest < most:
        middle = (fewest + most + 1) // 2
        if meter.missing_micros(meter.funded_until + middle * _HOUR, now) <= spendable:
            fewest = middle
        else:
            most = middle - 1
    return fewest


def _drawn(meter: _Renewable, owner_id: UUID, missing: int) -> int:
    return redemption.draw(
        owner_id=owner_id,
        source_kind=meter.source_kind,
        source_id=meter.source_id,
        wanted_micros=missing,
        scope=meter.scope,
    )


def _columns(renewals: Sequence[_Renewal]) -> dict[str, list[Any]]:
    return {
        "meters": [renewal.meter.meter_id for renewal in renewals],
        "holds": [renewal.meter.hold_id for renewal in renewals],
        "wallets": [renewal.meter.wallet_id for renewal in renewals],
        "until": [renewal.until for renewal in renewals],
        "amounts": [renewal.amount_micros for renewal in renewals],
    }
