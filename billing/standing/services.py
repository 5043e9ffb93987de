"""Evaluation of wallet standings: one statement evaluates all, and stores notices for those concerned."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from billing.constants import LOW_LEFT_HOURS, LOW_RUNWAY_HOURS, LOW_TOLD_EVERY, STANDING_DRIFT
from billing.models import Notice
from billing.states import StandingState
from common import change_counters
from common.db.transactions import use_case

# Exhausted: something was stopped for lack of money, and the wallet still cannot pay an hour of the cheapest of it.
# Low: the rest lasts less than a day at the present rate; it is left at a slightly higher level than it is entered,
# so that it does not flap. All transitions between the three are allowed, so this statement's own row lock replaces a
# compare-and-swap on `generation`.
_TURN = """
WITH stake AS (
    SELECT * FROM unnest(%(owners)s::uuid[], %(rates)s::bigint[], %(dates)s::timestamptz[])
                  AS stake (owner_id, rate, ends_at)
), running AS (
    SELECT payer_id, sum(rate) AS burn, sum(accrued) AS accrued
    FROM (SELECT payer_id,
                 CASE WHEN closed_at IS NULL AND (capped_at IS NULL OR capped_at > %(now)s)
                      THEN billing_meter_rate(meter, GREATEST(opened_at, %(now)s))::numeric / rate_hours ELSE 0 END AS rate,
                 billing_meter_cost(meter, GREATEST(settled_until, LEAST(billing_meter_end(meter, %(now)s), %(now)s)))
                 - billing_meter_cost(meter, settled_until) AS accrued
          FROM billing_meter meter WHERE NOT is_finished) AS each
    GROUP BY payer_id
), measured AS (
    SELECT wallet.id, wallet.owner_id, standing.state AS before, stake.rate, stake.ends_at,
           balance_micros - held_micros AS spendable, balance_micros - COALESCE(accrued, 0) AS live,
           COALESCE(burn, 0) AS burn
    FROM billing_wallet wallet
    LEFT JOIN running ON payer_id = wallet.id
    LEFT JOIN stake ON stake.owner_id = wallet.owner_id
    LEFT JOIN billing_standing standing ON standing.wallet_id = wallet.id
    WHERE wallet.kind = 'renter' AND (payer_id IS NOT NULL OR stake.rate IS NOT NULL OR standing.state <> 'good')
), judged AS (
    SELECT *, CASE WHEN rate IS NOT NULL AND spendable < rate THEN 'exhausted'
                   WHEN burn > 0 AND live < burn * CASE WHEN before = 'low' THEN %(leave)s ELSE %(enter)s END THEN 'low'
                   ELSE 'good' END AS state
    FROM measured
), turned AS (
    INSERT INTO billing_standing AS standing (wallet_id, state, generation, since, next_state_at)
    SELECT id, state, 1, %(now)s, CASE state WHEN 'exhausted' THEN ends_at
                                             WHEN 'low' THEN %(now)s + GREATEST(0, live / burn) * interval '1 hour' END
    FROM judged WHERE before IS NOT NULL OR state <> 'good'
    ON CONFLICT (wallet_id) DO UPDATE SET
        state = excluded.state, next_state_at = excluded.next_state_at,
        generation = standing.generation + (standing.state <> excluded.state)::int,
        since = CASE WHEN standing.state = excluded.state THEN standing.since ELSE excluded.since END
    WHERE standing.state <> excluded.state OR (standing.next_state_at IS NULL) <> (excluded.next_state_at IS NULL)
       OR standing.next_state_at NOT BETWEEN excluded.next_state_at - %(drift)s AND excluded.next_state_at + %(drift)s
    RETURNING wallet_id, state, generation, since, next_state_at
)
SELECT wallet_id, owner_id, turned.state, generation, next_state_at, live, COALESCE(before, 'good') <> turned.state
FROM turned JOIN judged ON judged.id = wallet_id ORDER BY wallet_id
"""


@dataclass(frozen=True)
class ArrearsItem:
    """Things of one owner that stopped for lack of money: cheapest hourly rate, and first deletion."""

    owner_id: UUID
    rate_micros: int
    ends_at: datetime | None


def update_standings(*, stakes: Sequence[ArrearsItem], now: datetime) -> int:
    """Evaluate every wallet that pays for something or that stopped for lack of money.

    Returns how many standings changed.
    """
    with use_case():
        with connection.cursor() as cursor:
            cursor.execute(_TURN, _values(stakes, now))
            rows = cursor.fetchall()
        changed = [row[:6] for row in rows if row[6]]
        _store_notices([row for row in changed if row[2] != StandingState.GOOD], now)
        change_counters.notify_change(*(f"user:{owner_id.hex}" for _wallet, owner_id, *_rest in changed))
    return len(changed)


def _values(stakes: Sequence[ArrearsItem], now: datetime) -> dict[str, Any]:
    return {
        "owners": [stake.owner_id for stake in stakes],
        "rates": [stake.rate_micros for stake in stakes],
        "dates": [stake.ends_at for stake in stakes],
        "now": now,
        "enter": LOW_RUNWAY_HOURS,
        "leave": LOW_LEFT_HOURS,
        "drift": STANDING_DRIFT,
    }


def _store_notices(rows: Sequence[tuple[UUID, UUID, str, int, datetime | None, int]], now: datetime) -> None:
    """Store notices about changed standings.

    Low is mailed at most once a day, however often it comes and goes; its banner is shown each time.
    """
    lately = Notice.objects.filter(
        kind=Notice.Kind.LOW, person_id__in=[row[1] for row in rows], at__gt=now - LOW_TOLD_EVERY
    ).values_list("person_id", flat=True)
    notified = set(lately)
    Notice.objects.bulk_create(
        (
            Notice(
                person_id=owner_id,
                kind=Notice.Kind(state),
                key=f"standing:{wallet_id.hex}:{generation}",
                subject_id=wallet_id,
                ends_at=ends_at,
                facts={"left_micros": int(live)},
                at=now,
            )
            for wallet_id, owner_id, state, generation, ends_at, live in rows
            if state != StandingState.LOW or owner_id not in notified
        ),
        ignore_conflicts=True,
    )
