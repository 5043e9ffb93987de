"""What tells that two accounts belong to one person, or to people who share their money."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from common import clock


class Tie(models.Model):
    """A card, a payout account or a team that a user has had. Kept for good: taking the card off again changes nothing.

    Anybody can type anybody's payout account: what that means, `billing.selectors.people` says.
    """

    class Kind(models.TextChoices):
        CARD = "card"  # Stripe's fingerprint of its number
        PAYOUT_ACCOUNT = "payout"
        TEAM = "team"

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=6, choices=Kind)
    value = models.CharField(max_length=200)
    seen_at = models.DateTimeField(default=clock.now)
    proven_at = models.DateTimeField(
        null=True, help_text="Since when a payout of the user has arrived there, or Stripe says that their account is ready."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "kind", "value"], name="one_tie_of_a_kind"),
            models.CheckConstraint(condition=Q(kind__in=["card", "payout", "team"]), name="tie_kind"),
            models.CheckConstraint(condition=~Q(value=""), name="tie_names_something"),
            models.CheckConstraint(condition=Q(proven_at=None) | Q(kind="payout"), name="tie_proven_by_a_payout"),
        ]
        indexes: ClassVar = [models.Index(fields=["kind", "value"], name="tie_shared")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.owner_id}"
