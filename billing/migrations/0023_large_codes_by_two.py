"""A coupon code that can give more than one person may grant alone waits for a second one."""

from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThanOrEqual

_BEFORE = "UPDATE billing_couponcode SET confirmed_by = 'before second persons were asked'"


class Migration(migrations.Migration):
    dependencies = [("billing", "0022_wallets_keep_their_owner")]

    operations = [
        migrations.AddField(
            "couponcode",
            "confirmed_by",
            models.CharField(blank=True, default="", max_length=80, verbose_name="confirmed by"),
        ),
        migrations.AddField(
            "couponcode", "waits", models.BooleanField(default=False, verbose_name="waits for a second person")
        ),
        migrations.RunSQL(_BEFORE, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "couponcode",
            models.CheckConstraint(
                condition=~Q(confirmed_by=F("created_by"))
                & (Q(active=False) | Q(waits=False))
                & (
                    Q(waits=True)
                    | ~Q(confirmed_by="")
                    | Q(
                        LessThanOrEqual(
                            Coalesce(
                                Coalesce(F("amount_micros"), F("most_micros")) * F("total_limit"), Value(1_000_000_001)
                            ),
                            1_000_000_000,
                        )
                    )
                ),
                name="large_coupon_code_has_two_people",
            ),
        ),
    ]
