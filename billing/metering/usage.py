"""Charges many meters at once: one posting, an entry per wallet, and a usage row per period."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from billing.constants import SETTLEMENT_SOURCE
from billing.models import Entry
from common.db.prepared import run
from common.ids import new_uuid

# Cuts each meter at whole hours since it opened and where its rate changes; an open one only up to its last full
# hour. Meters that another transaction has locked are left to the next pass: a settlement never waits for a meter
# while it holds wallets. The trigger on usage rows advances the meters. Entries get their numbers here, so that usage
# rows can refer to them. Wallets that others wait for are left to later statements: the platform's, which every end
# of a run needs, and, where many payers are charged, those of their hosts.
_POST_USAGE = """
WITH due AS MATERIALIZED (
    SELECT id, payer_id, payee_id, source_kind, source_id, rate_micros, rate_hours, steps_us, steps_micros, base_us, fee_bps,
           opened_at, begin_us, CASE WHEN closed_at IS NULL THEN end_us - end_us %% 3600000000 ELSE end_us END AS end_us
    FROM (SELECT id, payer_id, payee_id, source_kind, source_id, rate_micros, rate_hours, steps_us, steps_micros, base_us,
                 fee_bps, opened_at, closed_at, billing_elapsed_us(opened_at, settled_until) AS begin_us,
                 billing_elapsed_us(opened_at, LEAST(billing_meter_end(meter, %(now)s), %(until)s::timestamptz)) AS end_us
          FROM billing_meter meter
          WHERE {which} AND NOT is_finished
            AND settled_until + CASE WHEN closed_at IS NULL THEN interval '1 hour' ELSE interval '1 microsecond' END
                <= LEAST(billing_meter_end(meter, %(now)s), %(until)s::timestamptz)
          FOR NO KEY UPDATE OF meter SKIP LOCKED) AS locked
), piece AS (
    SELECT due.*, begin_us AS from_us, end_us AS to_us
    FROM due WHERE steps_us = '{{}}' AND begin_us < end_us AND begin_us / 3600000000 = (end_us - 1) / 3600000000
    UNION ALL
    SELECT due.*, GREATEST(begin_us, n * 3600000000) AS from_us, LEAST(end_us, (n + 1) * 3600000000) AS to_us
    FROM due CROSS JOIN LATERAL generate_series(begin_us / 3600000000, (end_us - 1) / 3600000000) AS n
    WHERE steps_us = '{{}}' AND begin_us < end_us AND begin_us / 3600000000 < (end_us - 1) / 3600000000
    UNION ALL
    SELECT due.*, mark.from_us, mark.to_us
    FROM due CROSS JOIN LATERAL (
        SELECT cut AS from_us, lead(cut) OVER (ORDER BY cut) AS to_us
        FROM (SELECT n * 3600000000 AS cut
              FROM generate_series(begin_us / 3600000000 + 1, (end_us - 1) / 3600000000) AS n
              UNION SELECT step - base_us FROM unnest(steps_us) AS step
              WHERE step - base_us > begin_us AND step - base_us < end_us
              UNION SELECT begin_us UNION SELECT end_us) AS cuts) AS mark
    WHERE steps_us <> '{{}}' AND begin_us < end_us AND mark.to_us IS NOT NULL
), line AS MATERIALIZED (
    SELECT id, payer_id, payee_id, source_kind, source_id,
           opened_at + from_us * interval '1 microsecond' AS period_from,
           opened_at + to_us * interval '1 microsecond' AS period_to,
           rate, cost_after - cost_before AS charge,
           billing_fee(cost_after, fee_bps) - billing_fee(cost_before, fee_bps) AS fee
    FROM (SELECT piece.*, billing_rate(rate_micros, steps_us, steps_micros, base_us + from_us) AS rate,
                 billing_cost(rate_micros, rate_hours, steps_us, steps_micros, base_us + from_us) AS cost_before,
                 billing_cost(rate_micros, rate_hours, steps_us, steps_micros, base_us + to_us) AS cost_after
          FROM piece OFFSET 0) AS reckoned
), posting AS MATERIALIZED (
    INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
    SELECT 'usage:' || %(source)s::uuid, 'usage', %(source_kind)s, %(source)s::uuid, '', 'meter', %(at)s::timestamptz
    WHERE EXISTS (SELECT FROM line)
    RETURNING id
), side AS MATERIALIZED (
    SELECT nextval('billing_entry_id_seq') AS entry_id, wallet_id, kind, amount
    FROM (SELECT payer_id AS wallet_id, 'charge' AS kind, -sum(charge)::bigint AS amount FROM line GROUP BY payer_id
          UNION ALL SELECT payee_id, 'host_share', sum(charge - fee)::bigint FROM line GROUP BY payee_id
          UNION ALL SELECT (SELECT id FROM billing_wallet WHERE kind = 'platform'), 'platform_fee', sum(fee)::bigint
          FROM line HAVING count(*) > 0) AS sums
), entry AS (
    INSERT INTO billing_entry (id, posting_id, wallet_id, kind, amount_micros)
    SELECT entry_id, posting.id, wallet_id, kind, amount FROM side CROSS JOIN posting
), usage AS (
    INSERT INTO billing_usage (posting_id, charge_entry_id, share_entry_id, meter_id, period_from, period_to, rate_micros,
                               charge_micros, fee_micros)
    SELECT posting.id, paid.entry_id, earned.entry_id, line.id, period_from, period_to, rate, charge, fee
    FROM line
    JOIN side paid ON paid.wallet_id = payer_id AND paid.kind = 'charge'
    JOIN side earned ON earned.wallet_id = payee_id AND earned.kind = 'host_share'
    CROSS JOIN posting
), consumed AS (
    UPDATE billing_hold hold SET amount_micros = hold.amount_micros - used.charge
    FROM (SELECT source_kind, source_id, sum(charge) AS charge FROM line GROUP BY source_kind, source_id) AS used
    WHERE hold.source_kind = used.source_kind AND hold.source_id = used.source_id AND hold.released_at IS NULL
    RETURNING hold.wallet_id, used.charge
), paid AS (
    UPDATE billing_wallet wallet
    SET balance_micros = balance_micros + change.balance, held_micros = held_micros - change.held
    FROM (SELECT wallet_id, sum(balance) AS balance, sum(held) AS held
          FROM (SELECT wallet_id, amount AS balance, 0 AS held FROM side WHERE kind <> ALL (%(late)s)
                UNION ALL SELECT wallet_id, 0, charge FROM consumed) AS both_sides
          GROUP BY wallet_id) AS change
    WHERE wallet.id = change.wallet_id
)
SELECT (SELECT count(*) FROM line), (SELECT id FROM posting), (SELECT amount FROM side WHERE kind = 'platform_fee')
"""
_OF_METERS = _POST_USAGE.format(which="id = ANY(%(chosen)s::uuid[])")
_OF_PAYERS = _POST_USAGE.format(which="payer_id = ANY(%(chosen)s::uuid[])")

_LOCK_PAYEES = """
SELECT count(*) FROM (
    SELECT FROM billing_wallet
    WHERE id IN (SELECT wallet_id FROM billing_entry WHERE posting_id = %(posting)s AND kind = 'host_share')
    ORDER BY id FOR NO KEY UPDATE) AS locked
"""
_PAY_PAYEES = """
UPDATE billing_wallet wallet SET balance_micros = balance_micros + amount_micros
FROM billing_entry entry WHERE posting_id = %(posting)s AND entry.kind = 'host_share' AND wallet.id = wallet_id
"""
_PAY_PLATFORM = "UPDATE billing_wallet SET balance_micros = balance_micros + %(fees)s WHERE kind = 'platform'"


def post_usage(*, meter_ids: Sequence[UUID], at: datetime, until: datetime | None = None) -> int:
    """Charge what these meters have proven and return the number of usage rows written.

    The transaction has locked the meters' wallets (`lock_wallets`). Open meters are charged for whole hours since
    they opened, closed ones to their end; nothing after `until`, when it is given.
    """
    values = _values(list(meter_ids), at, until, late=[Entry.Kind.PLATFORM_FEE])
    with connection.cursor() as cursor:
        run(cursor, _OF_METERS, values)  # a few meters take longer to plan than to charge
        rows, _, fees = cursor.fetchone()
        _pay_platform(cursor, fees)
    return int(rows)


def post_usage_of(*, payers: Any, at: datetime, until: datetime) -> int:
    """Charge what all meters of these payers have proven and return the number of usage rows written.

    `payers` are wallet ids, as a list or as PostgreSQL's text of an array. Only the payers' wallets must be
    locked. Their hosts' wallets are locked here, after everything else is written: a batch takes seconds, and
    whatever ends on one of those hosts meanwhile must not wait for it.
    """
    values = _values(payers, at, until, late=[Entry.Kind.PLATFORM_FEE, Entry.Kind.HOST_SHARE])
    with connection.cursor() as cursor:
        cursor.execute(_OF_PAYERS, values)  # planned each time: PostgreSQL must know how many they are
        rows, posting, fees = cursor.fetchone()
        if posting is not None:
            cursor.execute(_LOCK_PAYEES, {"posting": posting})
            cursor.execute(_PAY_PAYEES, {"posting": posting})
        _pay_platform(cursor, fees)
    return int(rows)


def _values(chosen: Any, at: datetime, until: datetime | None, *, late: list[str]) -> dict[str, Any]:
    return {
        "chosen": chosen,
        "now": at if until is None else until,
        "until": until,
        "at": at,
        "source": str(new_uuid()),
        "source_kind": SETTLEMENT_SOURCE,
        "late": late,
    }


def _pay_platform(cursor: Any, fees: int | None) -> None:
    if fees:
        cursor.execute(_PAY_PLATFORM, {"fees": fees})
