"""Whose a wallet or a hold is, and what a coupon code gives, is fixed and recorded; ties between accounts are kept."""

from django.db import migrations

# Nothing in the program ever names these columns in an UPDATE.
FIXED = {
    "wallet": ("id", "owner_id", "kind", "created_at"),
    "hold": ("id", "wallet_id", "source_kind", "source_id", "created_at"),
    "couponcode": (
        *("id", "code", "kind", "amount_micros", "percent_bps", "most_micros", "per_user", "total_limit"),
        *("created_by", "created_at"),
    ),
    "coupon": ("id", "code_id", "owner_id", "number", "redeemed_at"),
}
KEPT = ("couponcode", "coupon", "coupondraw", "tie")
# Recorded without what moves.
MOVES = {"wallet": "{balance_micros,held_micros}", "couponcode": "{redeemed,active,waits,confirmed_by}"}

WALLS = (
    """
CREATE FUNCTION billing_terms_are_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'whose a row of % is, and what it gives, is fixed', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
    + "\n".join(
        f"CREATE TRIGGER {name}_keeps_its_columns BEFORE UPDATE OF {', '.join(columns)} ON billing_{name}"
        " FOR EACH STATEMENT EXECUTE FUNCTION billing_terms_are_fixed();"
        for name, columns in FIXED.items()
    )
    + "\n".join(
        f"CREATE TRIGGER {name}_is_kept BEFORE DELETE ON billing_{name} FOR EACH STATEMENT EXECUTE FUNCTION billing_kept();"
        for name in KEPT
    )
    + "CREATE TRIGGER tie_is_not_truncated BEFORE TRUNCATE ON billing_tie"
    " FOR EACH STATEMENT EXECUTE FUNCTION billing_kept();"
)
NO_WALLS = (
    "DROP TRIGGER tie_is_not_truncated ON billing_tie;"
    + "\n".join(f"DROP TRIGGER {name}_is_kept ON billing_{name};" for name in KEPT)
    + "\n".join(f"DROP TRIGGER {name}_keeps_its_columns ON billing_{name};" for name in FIXED)
    + "DROP FUNCTION billing_terms_are_fixed();"
)

RECORDS = (
    """
CREATE FUNCTION billing_keep_first_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    INSERT INTO billing_record (subject, subject_id, content, at)
    SELECT TG_TABLE_NAME, id, to_jsonb(fresh) - TG_ARGV[0]::text[], clock_timestamp() FROM fresh;
    RETURN NULL;
END $$;
"""
    + "\n".join(
        f"CREATE TRIGGER {name}_is_recorded AFTER INSERT ON billing_{name} REFERENCING NEW TABLE AS fresh"
        f" FOR EACH STATEMENT EXECUTE FUNCTION billing_keep_first_records('{moves}');"
        for name, moves in MOVES.items()
    )
)
NO_RECORDS = (
    "\n".join(f"DROP TRIGGER {name}_is_recorded ON billing_{name};" for name in MOVES)
    + "DROP FUNCTION billing_keep_first_records();"
)

# What was there before begins its history now.
BACKFILL = "SET LOCAL timezone = 'UTC';" + "\n".join(
    "INSERT INTO billing_record (subject, subject_id, content, at)"
    f" SELECT 'billing_{name}', id, to_jsonb(kept) - '{moves}'::text[], clock_timestamp() FROM billing_{name} kept;"
    for name, moves in MOVES.items()
)


class Migration(migrations.Migration):
    dependencies = [("billing", "0021_names_for_people")]

    operations = [
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
        migrations.RunSQL(RECORDS, NO_RECORDS),
        migrations.RunSQL(WALLS, NO_WALLS),
    ]
