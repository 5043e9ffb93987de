"""Invariants of coupons and invoices.

No coupon money is created, lost or left as cash, and invoice numbers have no gap.
"""

from billing.ledger.checks import Check

PAPER_CHECKS = (
    Check(
        "I15",
        "each coupon wallet holds what remains in its owner's coupons",
        """
        SELECT 'wallet ' || wallet.id, 'balance ' || balance_micros || ', coupons ' || COALESCE(remaining, 0)
        FROM billing_wallet wallet
        LEFT JOIN (SELECT owner_id, sum(remaining_micros) AS remaining FROM billing_coupon GROUP BY owner_id) AS coupons
            ON coupons.owner_id = wallet.owner_id
        WHERE wallet.kind = 'coupon' AND balance_micros <> COALESCE(remaining, 0)
        """,
    ),
    Check(
        "I16",
        "what was drawn from coupons and not used yet is set aside for its source",
        """
        SELECT source_kind || ' ' || source_id, 'unused ' || unused || ', held ' || COALESCE(held, 0)
        FROM (
            SELECT draw.source_kind, draw.source_id, draw.unused - GREATEST(0, paid.micros - draw.seen) AS unused,
                   (SELECT sum(amount_micros) FROM billing_hold hold
                    WHERE hold.source_kind = draw.source_kind AND hold.source_id = draw.source_id
                      AND hold.released_at IS NULL) AS held
            FROM (SELECT source_kind, source_id, coupon.owner_id, max(seen_micros) AS seen,
                         sum(drawn_micros - used_micros - returned_micros) AS unused
                  FROM billing_coupondraw JOIN billing_coupon coupon ON coupon.id = coupon_id
                  WHERE closed_at IS NULL GROUP BY source_kind, source_id, coupon.owner_id) AS draw
            JOIN billing_wallet wallet ON wallet.owner_id = draw.owner_id AND wallet.kind = 'renter'
            CROSS JOIN LATERAL (
                SELECT COALESCE((SELECT sum(usage.charge_micros)
                                 FROM billing_meter meter JOIN billing_usage usage ON usage.meter_id = meter.id
                                 WHERE meter.source_kind = draw.source_kind AND meter.source_id = draw.source_id
                                   AND meter.payer_id = wallet.id), 0)
                     - COALESCE((SELECT sum(entry.amount_micros)
                                 FROM billing_posting posting JOIN billing_entry entry ON entry.posting_id = posting.id
                                 WHERE posting.source_kind = draw.source_kind AND posting.source_id = draw.source_id
                                   AND posting.kind <> 'usage' AND entry.wallet_id = wallet.id
                                   AND entry.kind <> 'coupon'), 0) AS micros) AS paid
        ) AS aside
        WHERE unused > COALESCE(held, 0)
        """,
    ),
    Check(
        "I34",
        "of each bonus no more is given than the kept part of its top-up gives: what was used beyond that was paid for",
        """
        SELECT 'coupon ' || id, 'used or set aside ' || used || ', left ' || remaining_micros
               || ', the kept part gives ' || due || ', repaid ' || repaid_micros || ', the ledger moved ' || paid
        FROM (
            SELECT coupon.id, remaining_micros, repaid_micros, waived_micros,
                   COALESCE((SELECT sum(drawn_micros - returned_micros) FROM billing_coupondraw
                             WHERE coupon_id = coupon.id), 0) AS used,
                   LEAST(most_micros, div(GREATEST(0, payment.amount_micros - refunded_micros - COALESCE(
                       (SELECT sum(amount_micros) FROM billing_dispute
                        WHERE payment_id = payment.id AND state <> 'won'), 0)) * percent_bps * 2 + 10000, 20000)) AS due,
                   COALESCE((SELECT -sum(entry.amount_micros) FROM billing_posting posting
                             JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.kind = 'bonus'
                             JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.owner_id = coupon.owner_id
                             WHERE posting.source_kind = 'payment' AND posting.source_id = payment.id), 0) AS paid
            FROM billing_coupon coupon JOIN billing_couponcode code ON code.id = coupon.code_id
            JOIN billing_payment payment ON payment.id = coupon.payment_id
        ) AS bonus
        WHERE paid <> repaid_micros OR repaid_micros <> GREATEST(0, used - waived_micros - due)
           OR remaining_micros > GREATEST(0, due + waived_micros - used)
        """,
    ),
    Check(
        "I17",
        "the invoices of each year are numbered from 1 without a gap, and each is the sum of its lines",
        """
        SELECT 'invoices of ' || year, count(*) || ' from ' || min(number) || ' to ' || max(number)
        FROM billing_invoice GROUP BY year HAVING min(number) <> 1 OR max(number) <> count(*)
        UNION ALL
        SELECT 'invoice ' || year || '-' || number, 'total ' || total_micros || ', lines ' || COALESCE(lines_micros, 0)
        FROM (SELECT year, number, total_micros,
                     (SELECT sum((line->>'amount_micros')::bigint) FROM jsonb_array_elements(lines) AS line) AS lines_micros
              FROM billing_invoice) AS paper
        WHERE total_micros <> COALESCE(lines_micros, 0)
        """,
    ),
)
