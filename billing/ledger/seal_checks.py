"""Check of the hash chain.

Every sealed row is as it was sealed, and no seal was changed, added or left out.
"""

from billing.ledger.checks import Check

SEAL_CHECKS = (
    Check(
        "I09",
        "every sealed posting, entry, usage row and record is as it was sealed, and each seal follows the one before",
        """
        SELECT 'seal ' || number, 'its rows give ' || left(now.body, 16) || ', sealed was ' || left(seal.body, 16) || ' ('
               || now.postings || '/' || now.entries || '/' || now.usage_rows || ' rows, sealed were '
               || seal.postings || '/' || seal.entries || '/' || seal.usage_rows || ')'
        FROM billing_seal seal
        CROSS JOIN LATERAL billing_seal_body(seal.after, seal.upto) AS now
        WHERE (now.body, now.postings, now.entries, now.usage_rows)
              <> (seal.body, seal.postings, seal.entries, seal.usage_rows)
        UNION ALL
        SELECT 'seal ' || number, 'its records give ' || left(now.body, 16) || ' (' || now.records || '), sealed was '
               || left(records_body, 16) || ' (' || seal.records || ')'
        FROM billing_seal seal
        CROSS JOIN LATERAL billing_records_body(seal.records_after, seal.records_upto) AS now
        WHERE records_upto IS NOT NULL AND (now.body, now.records) IS DISTINCT FROM (seal.records_body, seal.records)
        UNION ALL
        SELECT 'seal ' || number, 'it does not follow the seal before, or its head is not its own'
        FROM (SELECT seal.*, encode(billing_digest(billing_canonical_seal(seal)), 'hex') AS own,
                     lag(head, 1, repeat('0', 64)) OVER chain AS head_before,
                     lag(upto, 1, 0::bigint) OVER chain AS upto_before,
                     COALESCE(lag(records_upto) OVER chain, 0) AS records_before, row_number() OVER chain AS place
              FROM billing_seal seal WINDOW chain AS (ORDER BY number)) AS link
        WHERE head <> own OR previous <> head_before OR after <> upto_before OR number <> place
           OR records_after <> records_before OR (records_upto IS NULL AND records_before > 0)
        """,
    ),
    Check(
        "I10",
        "the chain has each seal that an audit has seen, with the head that it saw",
        """
        SELECT 'seal ' || seal_number, 'on ' || to_char(started_at, 'YYYY-MM-DD HH24:MI') || ' its head was '
               || left(seen.head, 16) || ', now ' || COALESCE(left(seal.head, 16), 'there is none')
        FROM billing_ledgeraudit seen LEFT JOIN billing_seal seal ON seal.number = seal_number
        WHERE seal_number IS NOT NULL AND seal.head IS DISTINCT FROM seen.head
        """,
    ),
)
