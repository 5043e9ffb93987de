"""Invariants of the ledger as SQL queries that return (subject, detail) of each violation.

Their numbers are those of the fault list.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One invariant; its `query` may use %(latest)s and must return no row."""

    code: str
    rule: str
    query: str


CHECKS = (
    Check(
        "I01",
        "the entries of each posting add up to zero",
        """
        SELECT 'posting ' || posting_id, 'the sum is ' || sum(amount_micros)
        FROM billing_entry GROUP BY posting_id HAVING sum(amount_micros) <> 0
        """,
    ),
    Check(
        "I02",
        "all entries together add up to zero",
        "SELECT 'ledger', 'the sum is ' || sum(amount_micros) FROM billing_entry HAVING sum(amount_micros) <> 0",
    ),
    Check(
        "I03",
        "each wallet's balance is the sum of its entries",
        """
        SELECT 'wallet ' || wallet.id, 'balance ' || balance_micros || ', entries ' || COALESCE(total, 0)
        FROM billing_wallet wallet
        LEFT JOIN (SELECT wallet_id, sum(amount_micros) AS total FROM billing_entry GROUP BY wallet_id) AS entries
            ON entries.wallet_id = wallet.id
        WHERE balance_micros <> COALESCE(total, 0)
        """,
    ),
    Check(
        "I04",
        "each wallet's held money is that of its open holds, and the balance of who spends covers it",
        """
        SELECT 'wallet ' || wallet.id,
               'balance ' || balance_micros || ', held ' || held_micros || ', open holds ' || COALESCE(total, 0)
        FROM billing_wallet wallet
        LEFT JOIN (SELECT wallet_id, sum(amount_micros) AS total FROM billing_hold WHERE released_at IS NULL
                   GROUP BY wallet_id) AS holds ON holds.wallet_id = wallet.id
        WHERE held_micros <> COALESCE(total, 0) OR (kind IN ('renter', 'coupon', 'escrow') AND balance_micros < held_micros)
        """,
    ),
    Check(
        "I05",
        "one usage row for each settled interval of a meter: no gap, no overlap, from its opening to what is settled",
        """
        SELECT 'meter ' || meter.id, 'settled until ' || settled_until || ', rows cover ' || COALESCE(covered, '0')
        FROM billing_meter meter
        LEFT JOIN (SELECT meter_id, min(period_from) AS starts, max(period_to) AS ends,
                          sum(period_to - period_from) AS covered
                   FROM billing_usage GROUP BY meter_id) AS used ON used.meter_id = meter.id
        WHERE settled_until - opened_at <> COALESCE(covered, '0')
           OR (covered IS NOT NULL AND (starts <> opened_at OR ends <> settled_until))
        UNION ALL
        SELECT 'usage ' || id, 'its meter is missing' FROM billing_usage usage
        WHERE NOT EXISTS (SELECT FROM billing_meter meter WHERE meter.id = usage.meter_id)
        """,
    ),
    Check(
        "I06",
        "each charge and share is the sum of its usage rows, between the meters' own wallets, and the rest is the fee",
        """
        SELECT 'entry ' || entry.id, kind || ' ' || amount_micros || ', its usage rows add up to ' || COALESCE(amount, 0)
        FROM (SELECT entry.id, entry.posting_id, entry.kind, entry.amount_micros, entry.wallet_id
              FROM billing_entry entry JOIN billing_posting posting ON posting.id = entry.posting_id
              WHERE posting.kind = 'usage' AND entry.kind IN ('charge', 'host_share')) AS entry
        LEFT JOIN (SELECT charge_entry_id AS id, -sum(charge_micros) AS amount, min(posting_id) AS first_posting,
                          max(posting_id) AS last_posting, min(payer_id::text) AS first_wallet,
                          max(payer_id::text) AS last_wallet
                   FROM billing_usage usage JOIN billing_meter meter ON meter.id = meter_id GROUP BY charge_entry_id
                   UNION ALL
                   SELECT share_entry_id, sum(charge_micros - fee_micros), min(posting_id), max(posting_id),
                          min(payee_id::text), max(payee_id::text)
                   FROM billing_usage usage JOIN billing_meter meter ON meter.id = meter_id GROUP BY share_entry_id) AS used
            ON used.id = entry.id
        WHERE (amount_micros = amount AND posting_id = first_posting AND posting_id = last_posting
               AND wallet_id::text = first_wallet AND wallet_id::text = last_wallet) IS NOT TRUE
        UNION ALL
        SELECT 'usage ' || usage.id, 'it is in no entries of its posting'
        FROM billing_usage usage
        LEFT JOIN billing_entry paid ON paid.id = charge_entry_id AND paid.kind = 'charge'
        LEFT JOIN billing_entry earned ON earned.id = share_entry_id AND earned.kind = 'host_share'
        WHERE (paid.posting_id = usage.posting_id AND earned.posting_id = usage.posting_id) IS NOT TRUE
        UNION ALL
        SELECT 'posting ' || posting_id, 'its entries are ' || string_agg(DISTINCT kinds.kind || ' of ' || wallet.kind, ', ')
        FROM (SELECT entry.posting_id, entry.kind, entry.wallet_id FROM billing_entry entry
              JOIN billing_posting posting ON posting.id = entry.posting_id AND posting.kind = 'usage') AS kinds
        JOIN billing_wallet wallet ON wallet.id = wallet_id
        GROUP BY posting_id
        HAVING count(*) FILTER (WHERE kinds.kind = 'platform_fee') <> 1
            OR bool_or(CASE kinds.kind WHEN 'charge' THEN wallet.kind NOT IN ('renter', 'escrow')
                                       WHEN 'host_share' THEN wallet.kind <> 'host'
                                       WHEN 'platform_fee' THEN wallet.kind <> 'platform' ELSE true END)
        """,
    ),
    Check(
        "I07",
        "each charge and fee is what the meter's tariff gives for its period, at one rate",
        """
        SELECT 'usage ' || id, 'charged ' || charge_micros || ' and the fee ' || fee_micros || ', the price gives '
               || cost_after - cost_before || ' and ' || fee_after - fee_before
        FROM (SELECT usage.id, charge_micros, fee_micros, usage.rate_micros = billing_meter_rate(meter, period_from)
                         AND NOT EXISTS (SELECT FROM unnest(steps_us) AS step
                                         WHERE step > base_us + billing_elapsed_us(opened_at, period_from)
                                           AND step < base_us + billing_elapsed_us(opened_at, period_to)) AS one_rate,
                     cost_before, cost_after, billing_fee(cost_before, fee_bps) AS fee_before,
                     billing_fee(cost_after, fee_bps) AS fee_after
              FROM billing_usage usage
              JOIN billing_meter meter ON meter.id = usage.meter_id
              CROSS JOIN LATERAL (SELECT billing_meter_cost(meter, period_from) AS cost_before,
                                         billing_meter_cost(meter, period_to) AS cost_after) AS costs) AS priced
        WHERE NOT one_rate OR charge_micros <> cost_after - cost_before OR fee_micros <> fee_after - fee_before
        """,
    ),
    Check(
        "I08",
        "no idempotency key is used twice",
        """
        SELECT 'key ' || idempotency_key, 'used ' || count(*) || ' times'
        FROM billing_posting GROUP BY idempotency_key HAVING count(*) > 1
        """,
    ),
    Check(
        "I12",
        "what is given back is what its period was charged, by the same three wallets, and no second is given back twice",
        """
        SELECT 'posting ' || given.id, 'gave back ' || COALESCE(refund::text, 'nothing') || ' and the fee '
               || COALESCE((-fee)::text, 'of nothing')
               || ', charged were ' || COALESCE(charged || ' and ' || fee_charged, 'none')
        FROM billing_posting given
        LEFT JOIN (SELECT posting_id, count(*) AS entries,
                          max(amount_micros) FILTER (WHERE entry.kind = 'refund') AS refund,
                          max(amount_micros) FILTER (WHERE entry.kind = 'host_share') AS share,
                          max(amount_micros) FILTER (WHERE entry.kind = 'platform_fee' AND wallet.kind = 'platform') AS fee,
                          min(wallet_id::text) FILTER (WHERE entry.kind = 'refund') AS payer,
                          min(wallet_id::text) FILTER (WHERE entry.kind = 'host_share') AS payee
                   FROM billing_entry entry JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
                   GROUP BY posting_id) AS sides ON sides.posting_id = given.id
        LEFT JOIN LATERAL (
            SELECT payer_id, payee_id, rate, cost_after - cost_before AS charged,
                   billing_fee(cost_after, fee_bps) - billing_fee(cost_before, fee_bps) AS fee_charged
            FROM (SELECT payer_id, payee_id, fee_bps, billing_meter_rate(meter, given.period_from) AS rate,
                         billing_meter_cost(meter, given.period_from) AS cost_before,
                         billing_meter_cost(meter, given.period_to) AS cost_after
                  FROM billing_meter meter
                  WHERE meter.source_kind = given.source_kind AND meter.source_id = given.source_id
                    AND opened_at <= given.period_from AND given.period_to <= settled_until) AS priced) AS used ON true
        WHERE given.kind = 'credit'
          AND (entries = 3 AND refund = charged AND -fee = fee_charged AND refund + share + fee = 0
               AND given.rate_micros_per_hour = rate AND payer = payer_id::text AND payee = payee_id::text) IS NOT TRUE
        UNION ALL
        SELECT 'posting ' || id, 'gives back from ' || period_from || ', the one before ends ' || before_ends
        FROM (SELECT id, period_from, lag(period_to) OVER (
                  PARTITION BY source_kind, source_id ORDER BY period_from, period_to) AS before_ends
              FROM billing_posting WHERE kind = 'credit') AS periods
        WHERE period_from < before_ends
        """,
    ),
    Check(
        "I14",
        "each source that is metered or owes has an open hold of its payer that covers it",
        """
        SELECT 'source ' || owing.source_kind || ' ' || owing.source_id,
               'owes up to ' || owed || ', held ' || COALESCE(hold.amount_micros::text, 'nothing')
        FROM (SELECT source_kind, source_id, sum(billing_meter_cost(meter, GREATEST(settled_until, ends))
                                                 - billing_meter_cost(meter, settled_until)) AS owed
              FROM billing_meter meter
              CROSS JOIN LATERAL (
                  -- what a free meter or one whose rate moves may come to is known only as far as it is proven
                  SELECT CASE WHEN closed_at IS NULL AND rate_micros > 0 AND most_micros IS NULL
                              THEN LEAST(funded_until, capped_at)
                              ELSE LEAST(billing_meter_end(meter, %(latest)s), %(latest)s) END AS ends) AS reach
              WHERE NOT is_finished
              GROUP BY source_kind, source_id) AS owing
        LEFT JOIN billing_hold hold ON hold.source_kind = owing.source_kind AND hold.source_id = owing.source_id
            AND hold.released_at IS NULL
        WHERE hold.id IS NULL OR hold.amount_micros < owed
        UNION ALL
        SELECT 'source ' || hold.source_kind || ' ' || hold.source_id, 'its money is held in wallet ' || hold.wallet_id
        FROM billing_hold hold
        JOIN billing_meter meter ON meter.source_kind = hold.source_kind AND meter.source_id = hold.source_id
            AND NOT is_finished
        WHERE hold.released_at IS NULL AND hold.wallet_id <> meter.payer_id
        """,
    ),
    Check(
        "I20",
        "no second of a meter is charged twice or left out between two rows, and the meters of a source do not overlap",
        """
        SELECT 'usage ' || id, 'begins ' || period_from || ', the one before ends ' || before_ends
        FROM (SELECT id, period_from,
                     lag(period_to) OVER (PARTITION BY meter_id ORDER BY period_from, period_to) AS before_ends
              FROM billing_usage) AS periods
        WHERE period_from <> before_ends
        UNION ALL
        SELECT 'meter ' || id, 'begins ' || opened_at || ', the one before is proven until ' || before_ends
        FROM (SELECT id, opened_at, lag(proven_until) OVER (
                  PARTITION BY source_kind, source_id ORDER BY opened_at, proven_until) AS before_ends
              FROM billing_meter) AS stretches
        WHERE opened_at < before_ends
        """,
    ),
    Check(
        "I24",
        "nothing is charged beyond the proof, the clock, the hold or the stop's cap",
        """
        SELECT 'usage ' || usage.id, 'ends ' || period_to || ', chargeable until ' || billing_meter_end(meter, %(latest)s)
        FROM billing_usage usage JOIN billing_meter meter ON meter.id = usage.meter_id
        WHERE period_to > billing_meter_end(meter, %(latest)s)
        """,
    ),
    Check(
        "I25",
        "each usage period has a length of at most an hour and lies in the past",
        """
        SELECT 'usage ' || id, 'from ' || period_from || ' to ' || period_to
        FROM billing_usage
        WHERE NOT (period_to > period_from AND period_to <= %(latest)s AND period_to - period_from <= interval '1 hour')
        """,
    ),
)
