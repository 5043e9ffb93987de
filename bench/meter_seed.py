"""Seed of running meters, with a tenth as many renters and a hundredth as many host owners."""

from typing import Final

HOURS: Final = 12
"""Hours that each meter is proven and funded for; none are settled, so as many can be charged."""

# Meters open in the order of their keys, spread over an hour; who rents from whom is shuffled by two primes.
SEED: Final = (
    """
    INSERT INTO accounts_user (id, password, is_superuser, email, is_staff, is_active, date_joined, display_name,
                               is_host_owner, language)
    SELECT md5('bench-' || kind || n)::uuid, '', false, 'bench-' || kind || n || '@example.com', false, true,
           now(), '', false, 'en'
    FROM (VALUES ('renter', GREATEST(1, %(meters)s / 10)), ('host', GREATEST(1, %(meters)s / 100))) AS who (kind, most)
    CROSS JOIN LATERAL generate_series(0, most - 1) AS n
    """,
    """
    INSERT INTO billing_wallet (id, owner_id, kind, balance_micros, held_micros, created_at)
    SELECT md5('wallet-' || email)::uuid, id, CASE WHEN email LIKE 'bench-renter%%' THEN 'renter' ELSE 'host' END, 0, 0,
           now()
    FROM accounts_user WHERE email LIKE 'bench-%%'
    UNION ALL
    SELECT gen_random_uuid(), NULL, kind, 0, 0, now() FROM unnest(ARRAY['platform', 'funding']) AS kind
    """,
    """
    INSERT INTO billing_hold (id, wallet_id, source_kind, source_id, mode, gpu_model, amount_micros, created_at)
    SELECT md5('hold-' || n)::uuid,
           md5('wallet-bench-renter' || n * 7919 %% GREATEST(1, %(meters)s / 10) || '@example.com')::uuid,
           'instance', md5('source-' || n)::uuid, 'hourly', 'rtx-4090', %(hours)s * (300000 + n %% 1000 * 100), %(opened)s
    FROM generate_series(0::bigint, %(meters)s - 1) AS n
    """,
    """
    INSERT INTO billing_meter (id, payer_id, payee_id, source_kind, source_id, label, mode, gpu_model, calendar, rate_micros,
                               rate_hours, steps_us, steps_micros, base_us, fee_bps, opened_at, proven_until, funded_until,
                               settled_until)
    SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, hold.wallet_id,
           md5('wallet-bench-host' || n * 104729 %% GREATEST(1, %(meters)s / 100) || '@example.com')::uuid,
           'instance', source_id, 'bench: 1 × RTX 4090', 'hourly', 'rtx-4090', false, hold.amount_micros / %(hours)s, 1,
           '{}', '{}', 0, 1000, opened, opened + %(hours)s * interval '1 hour', opened + %(hours)s * interval '1 hour',
           opened
    FROM generate_series(0::bigint, %(meters)s - 1) AS n
    JOIN billing_hold hold ON hold.id = md5('hold-' || n)::uuid
    CROSS JOIN LATERAL (SELECT %(opened)s::timestamptz + n * interval '3600 seconds' / %(meters)s AS opened) AS moment
    ORDER BY n
    """,
    """
    INSERT INTO billing_grant (id, owner_id, amount_micros, reason, key, requested_by, confirmed_by, state, created_at,
                               settled_at)
    SELECT gen_random_uuid(), owner_id, 2 * sum(amount_micros), 'bench', 'grant:bench:' || wallet.id, 'bench', 'bench too',
           'posted', %(opened)s, %(opened)s
    FROM billing_hold JOIN billing_wallet wallet ON wallet.id = wallet_id GROUP BY wallet.id
    """,
    """
    WITH given AS (
        INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
        SELECT key, 'grant', 'grant', wallet.id, reason, requested_by, %(opened)s
        FROM billing_grant JOIN billing_wallet wallet USING (owner_id) WHERE key = 'grant:bench:' || wallet.id
        RETURNING id, source_id AS wallet_id
    ), amount AS (
        SELECT wallet_id, sum(amount_micros) AS held, 2 * sum(amount_micros) AS balance FROM billing_hold GROUP BY wallet_id
    ), entry AS (
        INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
        SELECT given.id, wallet_id, 'credit', balance FROM amount JOIN given USING (wallet_id)
        UNION ALL
        SELECT given.id, (SELECT id FROM billing_wallet WHERE kind = 'funding'), 'funding', -balance
        FROM amount JOIN given USING (wallet_id)
    ), total AS (
        UPDATE billing_wallet SET balance_micros = -(SELECT sum(balance) FROM amount) WHERE kind = 'funding'
    )
    UPDATE billing_wallet SET balance_micros = balance, held_micros = held FROM amount WHERE wallet_id = id
    """,
)
TABLES: Final = (
    *("accounts_user", "billing_wallet", "billing_hold", "billing_meter", "billing_posting", "billing_entry"),
    "billing_usage",
)

# One hour of each meter by hand: whole hours at one rate, no other work, no locks, no batches, no backlog. The
# safeguards are off, so it advances the meters itself.
_HOUR_BY_HAND: Final = """
WITH line AS MATERIALIZED (
    SELECT id, payer_id, payee_id, source_kind, source_id, settled_until AS period_from,
           settled_until + interval '1 hour' AS period_to, rate_micros AS charge, (rate_micros + 5) / 10 AS fee
    FROM billing_meter WHERE closed_at IS NULL AND settled_until + interval '1 hour' <= LEAST(proven_until, %(now)s)
    ORDER BY payer_id
), posting AS (
    INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
    VALUES ('floor:' || gen_random_uuid(), 'usage', 'settlement', gen_random_uuid(), '', 'bench', %(now)s) RETURNING id
), side AS MATERIALIZED (
    SELECT nextval('billing_entry_id_seq') AS entry_id, wallet_id, kind, amount
    FROM (SELECT payer_id AS wallet_id, 'charge' AS kind, -sum(charge) AS amount FROM line GROUP BY payer_id
          UNION ALL SELECT payee_id, 'host_share', sum(charge - fee) FROM line GROUP BY payee_id
          UNION ALL SELECT (SELECT id FROM billing_wallet WHERE kind = 'platform'), 'platform_fee', sum(fee) FROM line
         ) AS sums
), entry AS (
    INSERT INTO billing_entry (id, posting_id, wallet_id, kind, amount_micros)
    SELECT entry_id, posting.id, wallet_id, kind, amount FROM side CROSS JOIN posting
), usage AS (
    INSERT INTO billing_usage (posting_id, charge_entry_id, share_entry_id, meter_id, period_from, period_to, rate_micros,
                               charge_micros, fee_micros)
    SELECT posting.id, paid.entry_id, earned.entry_id, line.id, period_from, period_to, charge, charge, fee
    FROM line JOIN side paid ON paid.wallet_id = payer_id JOIN side earned ON earned.wallet_id = payee_id CROSS JOIN posting
), consumed AS (
    UPDATE billing_hold hold SET amount_micros = hold.amount_micros - charge
    FROM line WHERE hold.source_kind = line.source_kind AND hold.source_id = line.source_id AND hold.released_at IS NULL
), {advanced}paid AS (
    UPDATE billing_wallet wallet
    SET balance_micros = balance_micros + amount,
        held_micros = held_micros + CASE WHEN side.kind = 'charge' THEN amount ELSE 0 END
    FROM side WHERE wallet.id = side.wallet_id
)
SELECT count(*) FROM line
"""
_ADVANCED: Final = """advanced AS (
    UPDATE billing_meter meter SET settled_until = period_to FROM line WHERE meter.id = line.id
), """
FLOOR: Final = _HOUR_BY_HAND.format(advanced=_ADVANCED)
GUARDED_FLOOR: Final = _HOUR_BY_HAND.format(advanced="")
GUARDED_TABLES: Final = ("billing_entry", "billing_usage", "billing_meter")

# Ten wallets that have only what pays 40 minutes of each of their meters since its last whole hour, while the meters
# are proven for 10 minutes more. All else that the wallets had goes to another renter.
DEPLETE: Final = """
WITH poor AS MATERIALIZED (
    SELECT payer_id FROM (SELECT DISTINCT payer_id FROM billing_meter
                          WHERE NOT is_finished AND payer_id NOT IN (SELECT wallet_id FROM billing_hold
                                                                     WHERE released_at IS NOT NULL)) AS running
    ORDER BY payer_id LIMIT 10
), owing AS MATERIALIZED (
    SELECT meter.id, payer_id, source_id,
           billing_meter_cost(meter, settled_until + interval '40 minutes')
               - billing_meter_cost(meter, settled_until) AS owed
    FROM billing_meter meter JOIN poor USING (payer_id) WHERE NOT is_finished
), ended AS (
    UPDATE billing_meter meter
    SET funded_until = settled_until + interval '40 minutes', proven_until = settled_until + interval '50 minutes'
    FROM owing WHERE meter.id = owing.id
), held AS (
    UPDATE billing_hold hold SET amount_micros = owed FROM owing
    WHERE hold.source_kind = 'instance' AND hold.source_id = owing.source_id AND released_at IS NULL
), spent AS MATERIALIZED (
    SELECT id, balance_micros - owed AS amount, owed
    FROM billing_wallet JOIN (SELECT payer_id, sum(owed) AS owed FROM owing GROUP BY payer_id) AS total ON payer_id = id
), rich AS MATERIALIZED (
    SELECT id FROM billing_wallet WHERE kind = 'renter' AND id NOT IN (SELECT id FROM spent) ORDER BY id LIMIT 1
), sent AS MATERIALIZED (
    SELECT gen_random_uuid() AS transfer, wallet.id, owner_id, amount FROM spent JOIN billing_wallet wallet USING (id)
), posting AS (
    INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
    SELECT 'transfer:' || replace(transfer::text, '-', ''), 'transfer', 'transfer', transfer, 'bench',
           'user:' || replace(owner_id::text, '-', ''), %(now)s
    FROM sent RETURNING id, source_id AS transfer
), entry AS (
    INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
    SELECT posting.id, sent.id, 'transfer', -amount FROM sent JOIN posting USING (transfer)
    UNION ALL
    SELECT posting.id, rich.id, 'transfer', amount FROM sent JOIN posting USING (transfer) CROSS JOIN rich
), got AS (
    UPDATE billing_wallet SET balance_micros = balance_micros + (SELECT sum(amount) FROM sent)
    WHERE id = (SELECT id FROM rich)
)
UPDATE billing_wallet wallet SET balance_micros = owed, held_micros = owed FROM spent WHERE wallet.id = spent.id
"""
