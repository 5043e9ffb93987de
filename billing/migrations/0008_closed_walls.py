"""Walls without doors: nothing is truncated, what was agreed is fixed, each change of a row about money is recorded and sealed."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.clock
import common.ids

APPEND_ONLY = ("posting", "entry", "usage", "seal", "invoice", "record", "ledgeraudit")
# Rows that change in lawful ways, and are never deleted.
KEPT = ("wallet", "hold", "meter", "order", "payment", "refund", "dispute", "payout", "grant")
OTHERS = ("coupon", "couponcode", "coupondraw", "stripeevent", "reconciliation", "invoiceseries", "payoutaccount")

# Changed rows of these tables are recorded as a whole. Meters are recorded without what moves while they run.
RECORDED = ("payment", "refund", "dispute", "payout", "grant")
RUNNING = "{proven_until,settled_until,funded_until,is_finished}"
SETTLING = "{settled_until,funded_until,is_finished}"

FIXED = {
    "refund": ("payment_id", "amount_micros", "created_at"),
    "dispute": ("payment_id", "amount_micros", "stripe_id"),
    "payout": ("owner_id", "method", "amount_micros", "destination", "created_at"),
    "grant": ("owner_id", "amount_micros", "reason", "key", "requested_by", "created_at"),
}


def each(names: tuple[str, ...], statement: str) -> str:
    return "\n".join(statement.format(name=name, table=f"billing_{name}") for name in names)


WALLS = (
    """
CREATE FUNCTION billing_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are kept: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
    + each(
        ("ledgeraudit", "record"),
        "CREATE TRIGGER {name}_is_append_only BEFORE UPDATE OR DELETE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();",
    )
    + each(
        tuple(name for name in KEPT if name != "meter"),  # it has such a trigger since 0005
        "CREATE TRIGGER {name}_is_kept BEFORE DELETE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION billing_kept();",
    )
    + each(
        (*APPEND_ONLY, *KEPT, *OTHERS),
        "CREATE TRIGGER {name}_is_not_truncated BEFORE TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION billing_kept();",
    )
    + """
-- What a meter was opened with stays. Nothing in the program ever names these columns in an UPDATE.
CREATE FUNCTION billing_meter_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what a meter was opened with is fixed' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER meter_keeps_its_terms BEFORE UPDATE OF
    id, payer_id, payee_id, source_kind, source_id, label, mode, gpu_model, calendar, rate_micros, rate_hours, base_us,
    fee_bps, opened_at
    ON billing_meter FOR EACH STATEMENT EXECUTE FUNCTION billing_meter_is_fixed();

CREATE FUNCTION billing_meter_goes_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the proof of meter % only grows until it closes, its cap only shrinks, and closed it stays', OLD.id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER meter_only_goes_forward BEFORE UPDATE OF
    proven_until, closed_at, capped_at, steps_us, steps_micros, most_micros ON billing_meter FOR EACH ROW
    WHEN (NEW.proven_until < OLD.proven_until OR NEW.most_micros < OLD.most_micros
          OR (NEW.most_micros IS NULL) <> (OLD.most_micros IS NULL)
          OR (OLD.capped_at IS NOT NULL AND (NEW.capped_at <= OLD.capped_at) IS NOT TRUE)
          OR (OLD.closed_at IS NOT NULL
              AND (NEW.proven_until, NEW.closed_at, NEW.steps_us, NEW.steps_micros, NEW.most_micros) IS DISTINCT FROM
                  (OLD.proven_until, OLD.closed_at, OLD.steps_us, OLD.steps_micros, OLD.most_micros)))
    EXECUTE FUNCTION billing_meter_goes_back();

-- A new rate begins where the meter is settled, or later: what is behind that was charged as it was priced then.
CREATE FUNCTION billing_steps_keep_the_past() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    settled_us bigint := OLD.base_us + billing_elapsed_us(OLD.opened_at, OLD.settled_until);
BEGIN
    IF (SELECT array_agg(step ORDER BY step) FROM unnest(OLD.steps_us, OLD.steps_micros) AS step (us, rate)
        WHERE us < settled_us)
       IS DISTINCT FROM
       (SELECT array_agg(step ORDER BY step) FROM unnest(NEW.steps_us, NEW.steps_micros) AS step (us, rate)
        WHERE us < settled_us)
    THEN
        RAISE EXCEPTION 'the price of what meter % has charged is fixed', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER meter_keeps_past_prices BEFORE UPDATE OF steps_us, steps_micros ON billing_meter
    FOR EACH ROW EXECUTE FUNCTION billing_steps_keep_the_past();

CREATE FUNCTION billing_row_keeps() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY TG_ARGV LOOP
        IF to_jsonb(OLD) -> name IS DISTINCT FROM to_jsonb(NEW) -> name THEN
            RAISE EXCEPTION '% of % % is fixed', name, TG_TABLE_NAME, OLD.id USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
"""
    + "\n".join(
        f"CREATE TRIGGER {name}_keeps_its_terms BEFORE UPDATE ON billing_{name} FOR EACH ROW"
        f" EXECUTE FUNCTION billing_row_keeps({', '.join(map(repr, columns))});"
        for name, columns in FIXED.items()
    )
    + """
CREATE TRIGGER payment_keeps_its_owner BEFORE UPDATE ON billing_payment FOR EACH ROW
    EXECUTE FUNCTION billing_row_keeps('owner_id', 'origin');
CREATE TRIGGER payment_stays_paid BEFORE UPDATE ON billing_payment FOR EACH ROW WHEN (OLD.state = 'succeeded')
    EXECUTE FUNCTION billing_row_keeps('state', 'amount_micros', 'intent_id', 'charge_id', 'paid_at');
CREATE TRIGGER grant_stays_settled BEFORE UPDATE ON billing_grant FOR EACH ROW WHEN (OLD.state <> 'pending')
    EXECUTE FUNCTION billing_row_keeps('state', 'confirmed_by');

-- By the end of its transaction a posting has entries, and a grant's is what its grant says.
CREATE FUNCTION billing_posting_is_complete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM billing_entry WHERE posting_id = NEW.id) THEN
        RAISE EXCEPTION 'posting % has no entries', NEW.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.kind = 'grant' AND NOT EXISTS (
        SELECT FROM billing_grant given
        JOIN billing_wallet wallet ON wallet.owner_id = given.owner_id
        JOIN billing_entry entry ON entry.posting_id = NEW.id AND entry.wallet_id = wallet.id
            AND entry.amount_micros = given.amount_micros
        WHERE given.key = NEW.idempotency_key AND given.state = 'posted')
    THEN
        RAISE EXCEPTION 'posting % grants what no grant says', NEW.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER posting_is_complete AFTER INSERT ON billing_posting
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION billing_posting_is_complete();
"""
)

NO_WALLS = (
    """
DROP TRIGGER posting_is_complete ON billing_posting;
DROP FUNCTION billing_posting_is_complete();
DROP TRIGGER grant_stays_settled ON billing_grant;
DROP TRIGGER payment_stays_paid ON billing_payment;
DROP TRIGGER payment_keeps_its_owner ON billing_payment;
"""
    + each(tuple(FIXED), "DROP TRIGGER {name}_keeps_its_terms ON {table};")
    + """
DROP FUNCTION billing_row_keeps();
DROP TRIGGER meter_keeps_past_prices ON billing_meter;
DROP FUNCTION billing_steps_keep_the_past();
DROP TRIGGER meter_only_goes_forward ON billing_meter;
DROP FUNCTION billing_meter_goes_back();
DROP TRIGGER meter_keeps_its_terms ON billing_meter;
DROP FUNCTION billing_meter_is_fixed();
"""
    + each((*APPEND_ONLY, *KEPT, *OTHERS), "DROP TRIGGER {name}_is_not_truncated ON {table};")
    + each(tuple(name for name in KEPT if name != "meter"), "DROP TRIGGER {name}_is_kept ON {table};")
    + each(("ledgeraudit", "record"), "DROP TRIGGER {name}_is_append_only ON {table};")
    + "DROP FUNCTION billing_kept();"
)

RECORDS = (
    """
-- Runs as the owner of the tables: who may change a row of money may not write records by hand. UTC, whatever the session has.
CREATE FUNCTION billing_keep_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    INSERT INTO billing_record (subject, subject_id, content, at)
    VALUES (TG_TABLE_NAME, NEW.id, to_jsonb(NEW), clock_timestamp());
    RETURN NULL;
END $$;
CREATE FUNCTION billing_keep_meter_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    INSERT INTO billing_record (subject, subject_id, content, at)
    VALUES (TG_TABLE_NAME, NEW.id, to_jsonb(NEW) - CASE WHEN NEW.closed_at IS NULL THEN '"""
    + RUNNING
    + "'::text[] ELSE '"
    + SETTLING
    + """'::text[] END, clock_timestamp());
    RETURN NULL;
END $$;
-- Opened by the thousand in one statement, or one by one.
CREATE FUNCTION billing_keep_meter_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    INSERT INTO billing_record (subject, subject_id, content, at)
    SELECT TG_TABLE_NAME, id, to_jsonb(fresh) - CASE WHEN closed_at IS NULL THEN '"""
    + RUNNING
    + "'::text[] ELSE '"
    + SETTLING
    + """'::text[] END, clock_timestamp() FROM fresh;
    RETURN NULL;
END $$;
CREATE TRIGGER meter_is_recorded AFTER INSERT ON billing_meter REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION billing_keep_meter_records();
CREATE TRIGGER meter_change_is_recorded AFTER UPDATE OF steps_us, steps_micros, most_micros, capped_at, closed_at
    ON billing_meter FOR EACH ROW EXECUTE FUNCTION billing_keep_meter_record();
"""
    + each(
        RECORDED,
        "CREATE TRIGGER {name}_is_recorded AFTER INSERT OR UPDATE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION billing_keep_record();",
    )
    + """
CREATE FUNCTION billing_canonical_record(r billing_record) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array('record', r.id, r.subject, r.subject_id, r.content::text, billing_stamp(r.at))
$$;
CREATE FUNCTION billing_records_body(after bigint, upto bigint, OUT records bigint, OUT body text)
LANGUAGE sql STABLE AS $$
    SELECT count(*), encode(sha256(COALESCE(
        string_agg(billing_digest(billing_canonical_record(r)), ''::bytea ORDER BY id), '')), 'hex')
    FROM billing_record r WHERE id > after AND id <= upto
$$;
CREATE OR REPLACE FUNCTION billing_canonical_seal(s billing_seal) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN s.records_upto IS NULL
        THEN json_build_array('seal', s.number, s.previous, s.after, s.upto, s.postings, s.entries, s.usage_rows, s.body,
            billing_stamp(s.sealed_at))
        ELSE json_build_array('seal', s.number, s.previous, s.after, s.upto, s.postings, s.entries, s.usage_rows, s.body,
            billing_stamp(s.sealed_at), s.records_after, s.records_upto, s.records, s.records_body) END
$$;
"""
)
NO_RECORDS = (
    """
CREATE OR REPLACE FUNCTION billing_canonical_seal(s billing_seal) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array('seal', s.number, s.previous, s.after, s.upto, s.postings, s.entries, s.usage_rows, s.body,
        billing_stamp(s.sealed_at))
$$;
DROP FUNCTION billing_records_body(bigint, bigint);
DROP FUNCTION billing_canonical_record(billing_record);
"""
    + each(RECORDED, "DROP TRIGGER {name}_is_recorded ON {table};")
    + """
DROP TRIGGER meter_change_is_recorded ON billing_meter;
DROP TRIGGER meter_is_recorded ON billing_meter;
DROP FUNCTION billing_keep_meter_records();
DROP FUNCTION billing_keep_meter_record();
DROP FUNCTION billing_keep_record();
"""
)

# What was there before begins its history now. Grants of that time are taken as they were posted.
BACKFILL = (
    """
INSERT INTO billing_grant (id, owner_id, amount_micros, reason, key, requested_by, confirmed_by, state, created_at, settled_at)
SELECT gen_random_uuid(), wallet.owner_id, entry.amount_micros,
       CASE WHEN btrim(memo) = '' THEN 'no reason was kept' ELSE memo END, idempotency_key,
       CASE WHEN btrim(actor) = '' THEN 'nobody was named' ELSE actor END, 'before second persons were asked', 'posted',
       posting.created_at, posting.created_at
FROM billing_posting posting
JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.amount_micros > 0
JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.owner_id IS NOT NULL
WHERE posting.kind = 'grant'
ON CONFLICT (key) DO NOTHING;
SET LOCAL timezone = 'UTC';
INSERT INTO billing_record (subject, subject_id, content, at)
SELECT 'billing_meter', id, to_jsonb(meter) - CASE WHEN closed_at IS NULL THEN '"""
    + RUNNING
    + "'::text[] ELSE '"
    + SETTLING
    + """'::text[] END, clock_timestamp() FROM billing_meter meter;
"""
    + each(
        RECORDED,
        "INSERT INTO billing_record (subject, subject_id, content, at)"
        " SELECT '{table}', id, to_jsonb(kept), clock_timestamp() FROM {table} kept;",
    )
)


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0007_fewer_indexes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("ledgeraudit", "granted_micros", models.BigIntegerField(default=0)),
        migrations.AddField(
            "ledgeraudit",
            "grants",
            models.PositiveIntegerField(
                default=0, help_text="Credits granted since the run before.", verbose_name="grants"
            ),
        ),
        migrations.AddField("seal", "records", models.PositiveBigIntegerField(null=True)),
        migrations.AddField(
            "seal", "records_after", models.BigIntegerField(help_text="The last record under the seal before.", null=True)
        ),
        migrations.AddField("seal", "records_body", models.CharField(blank=True, default="", max_length=64)),
        migrations.AddField(
            "seal", "records_upto", models.BigIntegerField(help_text="The last record under this one.", null=True)
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("subject", models.CharField(help_text="The table of the row.", max_length=40)),
                ("subject_id", models.UUIDField()),
                ("content", models.JSONField(help_text="Its columns, as they were then.")),
                ("at", models.DateTimeField(help_text="By the database's clock.")),
            ],
            options={
                "indexes": [models.Index(fields=["subject", "subject_id", "-id"], name="record_of_subject")],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ("amount_micros", models.BigIntegerField()),
                ("reason", models.CharField(max_length=200, verbose_name="reason")),
                ("key", models.CharField(help_text="Of its posting.", max_length=200, unique=True)),
                ("requested_by", models.CharField(max_length=80, verbose_name="granted by")),
                ("confirmed_by", models.CharField(blank=True, default="", max_length=80, verbose_name="confirmed by")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "waits for a second person"),
                            ("posted", "granted"),
                            ("declined", "declined"),
                        ],
                        default="posted",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=common.clock.now, verbose_name="created")),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="grants", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name": "grant",
                "verbose_name_plural": "grants",
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["requested_by", "-created_at"], name="grant_of_person"),
                    models.Index(condition=models.Q(("state", "pending")), fields=["created_at"], name="grant_to_confirm"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("amount_micros__gt", 0)), name="grant_is_positive"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "posted", "declined"])), name="grant_state"
                    ),
                    models.CheckConstraint(
                        condition=~models.Q(("reason__regex", "^\\s*$")) & ~models.Q(("requested_by__regex", "^\\s*$")),
                        name="grant_names_who_and_why",
                    ),
                    models.CheckConstraint(
                        condition=~models.Q(("confirmed_by", models.F("requested_by")))
                        & (
                            ~models.Q(("state", "posted"))
                            | models.Q(("amount_micros__lte", 1_000_000_000))
                            | ~models.Q(("confirmed_by", ""))
                        ),
                        name="large_grant_has_two_people",
                    ),
                ],
            },
        ),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),  # nothing waits when tables change
        migrations.RunSQL(RECORDS, NO_RECORDS),
        migrations.RunSQL(WALLS, NO_WALLS),
    ]
