"""The ledger remembers what its amounts are in. One that has issued invoices is in the currency of these."""

from django.db import migrations, models

import common.clock


class Migration(migrations.Migration):
    dependencies = [("billing", "0008_closed_walls")]

    operations = [
        migrations.CreateModel(
            name="LedgerCurrency",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("code", models.CharField(max_length=3)),
                ("noted_at", models.DateTimeField(default=common.clock.now)),
            ],
            options={
                "verbose_name_plural": "ledger currencies",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="one_currency_of_the_ledger")
                ],
            },
        ),
        migrations.RunSQL(
            """
            INSERT INTO billing_ledgercurrency (id, code, noted_at)
            SELECT 1, upper(currency), now() FROM billing_invoice ORDER BY issued_at LIMIT 1;
            CREATE TRIGGER ledgercurrency_is_append_only BEFORE UPDATE OR DELETE ON billing_ledgercurrency
                FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();
            CREATE TRIGGER ledgercurrency_is_not_truncated BEFORE TRUNCATE ON billing_ledgercurrency
                FOR EACH STATEMENT EXECUTE FUNCTION billing_kept();
            """,
            """
            DROP TRIGGER ledgercurrency_is_not_truncated ON billing_ledgercurrency;
            DROP TRIGGER ledgercurrency_is_append_only ON billing_ledgercurrency;
            """,
        ),
    ]
