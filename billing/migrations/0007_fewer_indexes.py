"""Postings have no second index of their keys, for LIKE: nobody searches keys by a pattern, and every charge wrote it."""

from django.db import migrations

NAME = "billing_posting_idempotency_key_004c0cb1_like"  # as Django names the one that it makes beside a unique text


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_squashed_0006_seals")]

    operations = [
        migrations.RunSQL(
            f"DROP INDEX IF EXISTS {NAME}",
            f"CREATE INDEX {NAME} ON billing_posting (idempotency_key varchar_pattern_ops)",
        ),
    ]
