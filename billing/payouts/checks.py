"""Invariants of payouts, matured earnings and the ledger, as queries that must return no rows."""

from billing.ledger.checks import Check

PAYOUT_CHECKS = (
    Check(
        "I13",
        "the payouts of an owner never come to more than what had matured when the last of them was opened",
        """
        WITH earned AS (
            SELECT wallet.owner_id, posting.created_at AS at, entry.amount_micros AS amount
            FROM billing_entry entry
            JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.kind = 'host'
            JOIN billing_posting posting ON posting.id = entry.posting_id
            WHERE entry.kind <> 'payout' AND wallet.owner_id IN (SELECT owner_id FROM billing_payout)
        ), matured AS (
            SELECT payout_id, sum(amount) OVER (PARTITION BY owner_id ORDER BY at) AS total
            FROM (SELECT owner_id, at, amount, NULL::uuid AS payout_id FROM earned
                  UNION ALL SELECT owner_id, matured_until, 0, id FROM billing_payout) AS either
        ), gone AS (
            SELECT payout_id, sum(amount) OVER (PARTITION BY owner_id ORDER BY at, amount) AS total
            FROM (SELECT owner_id, created_at AS at, amount_micros AS amount, id AS payout_id FROM billing_payout
                  UNION ALL SELECT owner_id, settled_at, -amount_micros, NULL FROM billing_payout
                  WHERE state = 'failed') AS either
        )
        SELECT 'payout ' || payout_id, 'payouts came to ' || gone.total || ', matured were ' || matured.total
        FROM gone JOIN matured USING (payout_id) WHERE gone.total > matured.total
        """,
    ),
    Check(
        "I13",
        "each payout has left its owner's earnings once, and is back in them exactly when it failed",
        """
        SELECT 'payout ' || COALESCE(payout.id, source_id),
               COALESCE(state, 'no row') || ', ' || COALESCE(postings, 0) || ' postings, earnings moved by '
               || COALESCE(host, 0) || ', the bank by ' || COALESCE(bank, 0)
        FROM billing_payout payout
        FULL JOIN (SELECT posting.source_id, count(DISTINCT posting.id) AS postings,
                          sum(amount_micros) FILTER (WHERE wallet.kind = 'host') AS host,
                          sum(amount_micros) FILTER (WHERE wallet.kind = 'bank') AS bank,
                          min(wallet.owner_id::text) FILTER (WHERE wallet.kind = 'host') AS owner
                   FROM billing_posting posting
                   JOIN billing_entry entry ON entry.posting_id = posting.id
                   JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
                   WHERE posting.kind = 'payout' GROUP BY posting.source_id) AS moved ON moved.source_id = payout.id
        WHERE (postings = CASE state WHEN 'failed' THEN 2 ELSE 1 END
               AND host = CASE state WHEN 'failed' THEN 0 ELSE -payout.amount_micros END
               AND host + bank = 0 AND owner = payout.owner_id::text) IS NOT TRUE
        """,
    ),
)
