"""What was used of a bonus is paid for when its top-up goes back. Refunds from before ask for nothing afterwards."""

from django.db import migrations, models
from django.db.models import F, Q

# For each coupon what is used, set aside or left now, and the part of its top-up that is kept does not give.
WAIVE = """
UPDATE billing_coupon coupon SET waived_micros = given.had - given.due
FROM (
    SELECT coupon.id,
           remaining_micros + (SELECT COALESCE(sum(drawn_micros - returned_micros), 0) FROM billing_coupondraw
                               WHERE coupon_id = coupon.id) AS had,
           LEAST(most_micros, div(GREATEST(0, payment.amount_micros - refunded_micros - COALESCE(
               (SELECT sum(amount_micros) FROM billing_dispute WHERE payment_id = payment.id AND state <> 'won'), 0))
               * percent_bps * 2 + 10000, 20000)) AS due
    FROM billing_coupon coupon JOIN billing_couponcode code ON code.id = coupon.code_id
    JOIN billing_payment payment ON payment.id = coupon.payment_id
) AS given
WHERE given.id = coupon.id AND given.had > given.due
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0018_credits_of_an_instance")]

    operations = [
        migrations.AddField(
            "coupon",
            "repaid_micros",
            models.BigIntegerField(
                default=0, help_text="Paid with cash for what was used of it, and the kept part of its top-up does not give."
            ),
        ),
        migrations.AddField(
            "coupon",
            "waived_micros",
            models.BigIntegerField(
                default=0, help_text="The same, from refunds before it had to be paid for: it never has to be."
            ),
        ),
        migrations.AddConstraint(
            "coupon",
            models.CheckConstraint(
                condition=Q(repaid_micros__gte=0, repaid_micros__lte=F("granted_micros"), waived_micros__gte=0),
                name="coupon_repaid_within_grant",
            ),
        ),
        migrations.AlterField(
            "entry",
            "kind",
            models.CharField(
                max_length=12,
                choices=[
                    ("charge", "charge"),
                    ("host_share", "host's share"),
                    ("platform_fee", "platform fee"),
                    ("credit", "credit"),
                    ("refund", "given back"),
                    ("funding", "funding"),
                    ("top_up", "top-up"),
                    ("card_refund", "refund to the card"),
                    ("dispute", "dispute"),
                    ("coupon", "coupon"),
                    ("bonus", "used bonus of a refunded top-up"),
                    ("prepaid", "reserved term"),
                    ("exit_fee", "early end of a term"),
                    ("transfer", "transfer"),
                    ("payout", "payout"),
                    ("loss", "loss"),
                    ("repayment", "repayment"),
                ],
            ),
        ),
        migrations.RunSQL(WAIVE, migrations.RunSQL.noop),
    ]
