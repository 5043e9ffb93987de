"""Invariants between the ledger, the rows that were posted for, and the records of those rows."""

from billing.ledger.checks import Check

# A row's history is in its records. A column that is newer than a record is not compared.
_NOW = " UNION ALL ".join(
    f"SELECT '{table}' AS subject, id, to_jsonb(kept) AS now FROM {table} kept"  # noqa: S608  (names from the lines below)
    for table in (
        *("billing_wallet", "billing_meter", "billing_payment", "billing_refund", "billing_dispute"),
        *("billing_payout", "billing_grant", "billing_couponcode"),
    )
)

RECORD_CHECKS = (
    Check(
        "I26",
        "each card payment, refund and dispute has moved its amount between its owner and Stripe, and nothing else has",
        """
        WITH moved AS (
            SELECT posting.kind, posting.source_id,
                   -sum(amount_micros) FILTER (WHERE wallet.kind = 'stripe') AS amount,
                   min(wallet.owner_id::text) AS first_owner, max(wallet.owner_id::text) AS last_owner
            FROM billing_posting posting
            JOIN billing_entry entry ON entry.posting_id = posting.id
            JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
            WHERE posting.kind IN ('top_up', 'refund', 'dispute') GROUP BY posting.kind, posting.source_id
        ), due AS (
            SELECT 'top_up' AS kind, id, owner_id, amount_micros AS amount FROM billing_payment WHERE state = 'succeeded'
            UNION ALL
            SELECT 'refund', refund.id, owner_id, CASE refund.state WHEN 'failed' THEN 0 ELSE -refund.amount_micros END
            FROM billing_refund refund JOIN billing_payment payment ON payment.id = payment_id
            UNION ALL
            SELECT 'dispute', dispute.id, owner_id, CASE dispute.state WHEN 'won' THEN 0 ELSE -dispute.amount_micros END
            FROM billing_dispute dispute JOIN billing_payment payment ON payment.id = payment_id
        )
        SELECT COALESCE(due.kind, moved.kind) || ' ' || COALESCE(id, source_id),
               'the row says ' || COALESCE(due.amount::text, 'nothing') || ', the ledger moved '
               || COALESCE(moved.amount::text, 'nothing')
        FROM due FULL JOIN moved ON moved.kind = due.kind AND moved.source_id = due.id
        WHERE (due.amount = moved.amount AND first_owner = owner_id::text AND last_owner = owner_id::text) IS NOT TRUE
        UNION ALL
        SELECT 'payment ' || payment.id, 'says ' || refunded_micros || ' went back, its refunds say ' || COALESCE(back, 0)
        FROM billing_payment payment
        LEFT JOIN (SELECT payment_id, sum(amount_micros) AS back FROM billing_refund WHERE state <> 'failed'
                   GROUP BY payment_id) AS refunds ON refunds.payment_id = payment.id
        WHERE refunded_micros <> COALESCE(back, 0)
        """,
    ),
    Check(
        "I27",
        "each posting has entries",
        """
        SELECT 'posting ' || id, kind || ' ' || idempotency_key FROM billing_posting posting
        WHERE NOT EXISTS (SELECT FROM billing_entry entry WHERE entry.posting_id = posting.id)
        """,
    ),
    Check(
        "I28",
        "each wallet, meter, grant, coupon code, payment, refund, dispute and payout says what its last record says",
        f"""
        WITH last AS (
            SELECT DISTINCT ON (subject, subject_id) subject, subject_id, content
            FROM billing_record ORDER BY subject, subject_id, id DESC
        )
        SELECT COALESCE(last.subject, kept.subject) || ' ' || COALESCE(subject_id, id),
               CASE WHEN kept.id IS NULL THEN 'it was deleted'
                    WHEN subject_id IS NULL THEN 'it has no record'
                    ELSE (SELECT string_agg(key || ' is ' || COALESCE(now -> key, 'null') || ', recorded is ' || value, '; ')
                          FROM jsonb_each(content) WHERE value IS DISTINCT FROM now -> key) END
        FROM ({_NOW}) AS kept
        FULL JOIN last ON last.subject = kept.subject AND last.subject_id = kept.id
        WHERE kept.id IS NULL OR subject_id IS NULL
           OR EXISTS (SELECT FROM jsonb_each(content) WHERE value IS DISTINCT FROM now -> key)
        """,  # noqa: S608
    ),
    Check(
        "I29",
        "each grant was posted as it says, once, and nothing was granted without one",
        """
        SELECT COALESCE('grant ' || given.id, 'posting ' || posting.id),
               'the grant says ' || COALESCE(given.amount_micros || ' (' || state || ')', 'nothing') || ', posted was '
               || COALESCE(paid.amount::text, 'nothing')
        FROM (SELECT * FROM billing_grant) AS given
        FULL JOIN (SELECT * FROM billing_posting WHERE kind = 'grant') AS posting
            ON posting.idempotency_key = given.key
        LEFT JOIN LATERAL (
            SELECT sum(amount_micros) AS amount, min(owner_id::text) AS owner, count(*) AS wallets
            FROM billing_entry entry JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
            WHERE entry.posting_id = posting.id AND owner_id IS NOT NULL) AS paid ON true
        WHERE (CASE state WHEN 'posted' THEN paid.amount = given.amount_micros AND owner = given.owner_id::text
                                             AND posting.actor = given.requested_by
                          ELSE posting.id IS NULL END) IS NOT TRUE
        """,
    ),
)
