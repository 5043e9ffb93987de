"""Check of what a posting of each kind may move, and between which wallets.

Money that leaves the market's own wallets is a finding.
"""

from billing.constants import DEPOSIT_HOURS
from billing.ledger.checks import Check

# The wallets and entries that each kind of posting may have, sorted. Usage has a check of its own (I06).
_SHAPES = """
    CASE kind
    WHEN 'grant' THEN '^funding:funding renter:credit$'
    WHEN 'credit' THEN '^(escrow:refund )?host:host_share platform:platform_fee( renter:refund)?$'
    WHEN 'top_up' THEN '^(debt:top_up )?(renter:top_up )?stripe:top_up$'
    WHEN 'refund' THEN '^(debt:card_refund )?(renter:card_refund )?stripe:card_refund$'
    WHEN 'dispute' THEN '^(debt:dispute )?(renter:dispute )?stripe:dispute$'
    WHEN 'coupon' THEN '^(coupon:coupon (gifts|renter):coupon|(debt:bonus )?gifts:bonus( renter:bonus)?)$'
    WHEN 'term' THEN '^(escrow:prepaid renter:prepaid|((debt|escrow):exit_fee )?(host:host_share ?)?'
                     '(platform:platform_fee ?)?(renter:exit_fee)?)$'
    WHEN 'transfer' THEN '^renter:transfer$'
    WHEN 'payout' THEN '^bank:payout host:payout$'
    WHEN 'repayment' THEN '^debt:repayment( host:repayment)?( renter:repayment)?$'
    END
"""

SHAPE_CHECKS = (
    Check(
        "I35",
        "each posting moves what its kind moves, between the market and one owner; a transfer is its sender's",
        f"""
        WITH moved AS (
            SELECT posting.id, posting.kind, posting.idempotency_key, posting.source_kind, posting.source_id, posting.actor,
                   string_agg(DISTINCT wallet.kind || ':' || entry.kind, ' ' ORDER BY wallet.kind || ':' || entry.kind)
                       AS shape,
                   count(*) AS entries,
                   count(DISTINCT owner_id) FILTER (WHERE wallet.kind <> 'host' OR posting.kind <> 'term') AS owners,
                   min(owner_id::text) FILTER (WHERE amount_micros < 0) AS sender
            FROM billing_posting posting
            JOIN billing_entry entry ON entry.posting_id = posting.id
            JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
            WHERE posting.kind <> 'usage'
            GROUP BY posting.id
        )
        SELECT 'posting ' || id, kind || ' by ' || actor || ' moves ' || shape || ' of ' || owners || ' owners'
        FROM moved
        WHERE (shape ~ {_SHAPES}) IS NOT TRUE
           OR CASE kind
              WHEN 'transfer' THEN (entries = 2 AND owners = 2 AND source_kind = 'transfer'
                                    AND idempotency_key = 'transfer:' || replace(source_id::text, '-', '')
                                    AND actor = 'user:' || replace(sender, '-', '')) IS NOT TRUE
              WHEN 'credit' THEN false  -- payer and payee are compared with the meter's (I12)
              ELSE owners > 1 END
        """,  # noqa: S608  constants of this module
    ),
    Check(
        "I36",
        "no term takes more out of escrow than was prepaid for it",
        """
        SELECT 'term ' || term, 'more than was prepaid: ' || -sum(micros)
        FROM (
            SELECT posting.source_id AS term, amount_micros AS micros
            FROM billing_posting posting
            JOIN billing_entry entry ON entry.posting_id = posting.id
            JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.kind = 'escrow'
            WHERE posting.kind IN ('term', 'credit')
            UNION ALL
            SELECT meter.source_id, -charge_micros
            FROM billing_wallet wallet
            JOIN billing_meter meter ON meter.payer_id = wallet.id
            JOIN billing_usage usage ON usage.meter_id = meter.id
            WHERE wallet.kind = 'escrow'
        ) AS moved
        GROUP BY term HAVING sum(micros) < 0
        """,
    ),
    Check(
        "I37",
        "each coupon was given what its code gives, and what came of coupons into wallets was drawn from them",
        """
        SELECT 'coupon ' || coupon.id, 'given ' || granted_micros || ', its code gives ' || code.amount_micros
        FROM billing_coupon coupon JOIN billing_couponcode code ON code.id = coupon.code_id
        WHERE code.kind = 'fixed' AND granted_micros <> code.amount_micros
        UNION ALL
        SELECT 'coupon ' || coupon.id, 'given ' || granted_micros || ', left ' || remaining_micros || ', drawn ' || drawn
        FROM billing_coupon coupon
        JOIN (SELECT coupon_id, sum(drawn_micros - returned_micros) AS drawn FROM billing_coupondraw
              GROUP BY coupon_id) AS draws ON draws.coupon_id = coupon.id
        WHERE payment_id IS NULL AND remaining_micros + drawn > granted_micros
        UNION ALL
        SELECT 'wallet ' || wallet.id, 'got ' || COALESCE(got, 0) || ' of coupons, drawn were ' || COALESCE(drawn, 0)
        FROM billing_wallet wallet
        LEFT JOIN (SELECT wallet_id, sum(amount_micros) AS got FROM billing_entry WHERE kind = 'coupon'
                   GROUP BY wallet_id) AS entries ON entries.wallet_id = wallet.id
        LEFT JOIN (SELECT owner_id, sum(drawn_micros - returned_micros) AS drawn
                   FROM billing_coupondraw JOIN billing_coupon coupon ON coupon.id = coupon_id
                   GROUP BY owner_id) AS draws ON draws.owner_id = wallet.owner_id
        WHERE wallet.kind = 'renter' AND COALESCE(got, 0) <> COALESCE(drawn, 0)
        """,
    ),
    Check(
        "I38",
        "each term that is paid by the hour has its deposit held, by who pays it",
        f"""
        SELECT 'term ' || term_id, 'its deposit is ' || deposit || ', held ' || COALESCE(hold.amount_micros::text, 'nothing')
        FROM (SELECT term_id, owner_id, LEAST({DEPOSIT_HOURS} * rate_micros, total_micros) AS deposit
              FROM billing_commitment WHERE ended_at IS NULL) AS commitment
        LEFT JOIN billing_hold hold ON source_kind = 'deposit' AND source_id = term_id AND released_at IS NULL
        LEFT JOIN billing_wallet wallet ON wallet.id = hold.wallet_id
        WHERE (hold.amount_micros >= deposit AND wallet.owner_id = commitment.owner_id) IS NOT TRUE
        """,  # noqa: S608  a constant of the policy
    ),
)
