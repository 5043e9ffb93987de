"""Staff can remove a tie: who, when and why stands on its row, and the row stays."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("billing", "0019_repaid_bonuses")]

    operations = [
        migrations.AlterModelOptions(
            "tie", {"verbose_name": "tie between accounts", "verbose_name_plural": "ties between accounts"}
        ),
        migrations.AlterField(
            "tie",
            "kind",
            models.CharField(choices=[("card", "card"), ("payout", "payout account"), ("team", "team")], max_length=6),
        ),
        migrations.AddField(
            "tie",
            "removed_at",
            models.DateTimeField(help_text="Since when it counts for nothing.", null=True, verbose_name="removed"),
        ),
        migrations.AddField(
            "tie",
            "removed_by",
            models.CharField(blank=True, default="", max_length=80, verbose_name="removed by"),
        ),
        migrations.AddField(
            "tie",
            "removed_reason",
            models.CharField(blank=True, default="", max_length=200, verbose_name="reason"),
        ),
        migrations.AddConstraint(
            "tie",
            models.CheckConstraint(
                condition=Q(removed_at=None, removed_by="", removed_reason="")
                | Q(removed_at__isnull=False) & ~Q(removed_by__regex=r"^\s*$") & ~Q(removed_reason__regex=r"^\s*$"),
                name="removed_tie_names_who_and_why",
            ),
        ),
    ]
