"""The invariants of the money as SQL, each returning (subject, detail) of what breaks it: numbers as in the fault list."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One invariant. `query` may use %(now)s and must return no row."""

    code: str
    says: str
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
        "each wallet's held money is that of its open holds, and a renter's balance covers it",
        """
        SELECT 'wallet ' || wallet.id,
               'balance ' || balance_micros || ', held ' || held_micros || ', open holds ' || COALESCE(total, 0)
        FROM billing_wallet wallet
        LEFT JOIN (SELECT wallet_id, sum(amount_micros) AS total FROM billing_hold WHERE released_at IS NULL
                   GROUP BY wallet_id) AS holds ON holds.wallet_id = wallet.id
        WHERE held_micros <> COALESCE(total, 0) OR (kind = 'renter' AND balance_micros < held_micros)
        """,
    ),
    Check(
        "I05",
        "the postings of a meter cover what is settled, without a hole",
        """
        SELECT 'meter ' || meter.id, 'settled until ' || settled_until || ', postings cover ' || COALESCE(covered, '0')
        FROM billing_meter meter
        LEFT JOIN (SELECT meter_id, min(period_from) AS starts, max(period_to) AS ends,
                          sum(period_to - period_from) AS covered
                   FROM billing_posting WHERE kind = 'usage' GROUP BY meter_id) AS posted ON posted.meter_id = meter.id
        WHERE settled_until - opened_at <> COALESCE(covered, '0')
           OR (covered IS NOT NULL AND (starts <> opened_at OR ends <> settled_until))
        """,
    ),
    Check(
        "I06",
        "each charge is the host's share plus the fee, between the meter's own payer and payee",
        """
        SELECT 'posting ' || posting.id, 'charge ' || COALESCE(charge::text, 'missing') || ', share '
               || COALESCE(share::text, 'missing') || ', fee ' || COALESCE(fee::text, 'missing')
        FROM billing_posting posting
        JOIN billing_meter meter ON meter.id = posting.meter_id
        LEFT JOIN (SELECT posting_id, count(*) AS entries,
                          max(amount_micros) FILTER (WHERE entry.kind = 'charge') AS charge,
                          max(amount_micros) FILTER (WHERE entry.kind = 'host_share') AS share,
                          max(amount_micros) FILTER (WHERE entry.kind = 'platform_fee' AND wallet.kind = 'platform') AS fee,
                          min(wallet_id::text) FILTER (WHERE entry.kind = 'charge') AS payer,
                          min(wallet_id::text) FILTER (WHERE entry.kind = 'host_share') AS payee
                   FROM billing_entry entry JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
                   GROUP BY posting_id) AS sides ON sides.posting_id = posting.id
        WHERE posting.kind = 'usage'
          AND (entries = 3 AND -charge = share + fee AND charge <= 0 AND share >= 0 AND fee >= 0
               AND payer = meter.payer_id::text AND payee = meter.payee_id::text) IS NOT TRUE
        """,
    ),
    Check(
        "I07",
        "each charge and fee is what the frozen price gives for its period",
        """
        SELECT 'posting ' || id, 'charged ' || -charge || ', the price gives ' || cost_after - cost_before
        FROM (SELECT posting.id, meter.fee_bps::int AS fee_bps, charge.amount_micros AS charge, fee.amount_micros AS fee,
                     posting.rate_micros_per_hour = meter.rate_micros_per_hour AS same_rate,
                     billing_cumulative(meter.rate_micros_per_hour, opened_at, period_from) AS cost_before,
                     billing_cumulative(meter.rate_micros_per_hour, opened_at, period_to) AS cost_after
              FROM billing_posting posting
              JOIN billing_meter meter ON meter.id = posting.meter_id
              JOIN billing_entry charge ON charge.posting_id = posting.id AND charge.kind = 'charge'
              JOIN billing_entry fee ON fee.posting_id = posting.id AND fee.kind = 'platform_fee') AS priced
        WHERE NOT same_rate OR -charge <> cost_after - cost_before
           OR fee <> billing_fee(cost_after, fee_bps) - billing_fee(cost_before, fee_bps)
        """,
    ),
    Check(
        "I08",
        "no idempotency key is used twice, and a usage's key names its meter and start",
        """
        SELECT 'key ' || idempotency_key, 'used ' || count(*) || ' times'
        FROM billing_posting GROUP BY idempotency_key HAVING count(*) > 1
        UNION ALL
        SELECT 'posting ' || id, 'the key is ' || idempotency_key
        FROM billing_posting
        WHERE kind = 'usage' AND idempotency_key <>
            'meter:' || meter_id || ':' || to_char(period_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
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
            FROM (SELECT payer_id, payee_id, rate_micros_per_hour AS rate, fee_bps::int AS fee_bps,
                         billing_cumulative(rate_micros_per_hour, opened_at, given.period_from) AS cost_before,
                         billing_cumulative(rate_micros_per_hour, opened_at, given.period_to) AS cost_after
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
        "each source that is metered or owes has an open hold that covers it",
        """
        SELECT 'source ' || owing.source_kind || ' ' || owing.source_id,
               'owes up to ' || owed || ', held ' || COALESCE(hold.amount_micros::text, 'nothing')
        FROM (SELECT source_kind, source_id, sum(
                  billing_cumulative(rate_micros_per_hour, opened_at, GREATEST(settled_until, ends))
                  - billing_cumulative(rate_micros_per_hour, opened_at, settled_until)) AS owed
              FROM (SELECT *, CASE WHEN closed_at IS NULL AND rate_micros_per_hour > 0 THEN LEAST(funded_until, capped_at)
                                   ELSE LEAST(proven_until, funded_until, capped_at) END AS ends
                    FROM billing_meter) AS meter
              WHERE closed_at IS NULL OR settled_until < ends
              GROUP BY source_kind, source_id) AS owing
        LEFT JOIN billing_hold hold ON hold.source_kind = owing.source_kind AND hold.source_id = owing.source_id
            AND hold.released_at IS NULL
        WHERE hold.id IS NULL OR hold.amount_micros < owed
        """,
    ),
    Check(
        "I20",
        "no second of a meter is charged twice, and the meters of a source do not overlap",
        """
        SELECT 'posting ' || id, 'begins ' || period_from || ', the one before ends ' || before_ends
        FROM (SELECT id, period_from,
                     lag(period_to) OVER (PARTITION BY meter_id ORDER BY period_from, period_to) AS before_ends
              FROM billing_posting WHERE kind = 'usage') AS periods
        WHERE period_from < before_ends
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
        "nothing is charged beyond the proof, the hold or the stop's cap",
        """
        SELECT 'posting ' || posting.id, 'ends ' || period_to || ', chargeable until '
               || LEAST(proven_until, funded_until, capped_at)
        FROM billing_posting posting JOIN billing_meter meter ON meter.id = posting.meter_id
        WHERE period_to > LEAST(proven_until, funded_until, capped_at)
        """,
    ),
    Check(
        "I25",
        "each usage period has a length of at most an hour and lies in the past",
        """
        SELECT 'posting ' || id,
               'from ' || COALESCE(period_from::text, 'never') || ' to ' || COALESCE(period_to::text, 'never')
        FROM billing_posting
        WHERE kind = 'usage' AND (period_to > period_from AND period_to <= %(latest)s
                                  AND period_to - period_from <= interval '1 hour') IS NOT TRUE
        """,
    ),
)
