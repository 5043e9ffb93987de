"""Commitments of renters to pay later: terms that are charged hour by hour."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from common import clock


class Commitment(models.Model):
    """Term without prepayment.

    Until it ends, a deposit is held for it, and the wallet keeps what its early end would cost.
    """

    term_id = models.UUIDField(primary_key=True, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    rate_micros = models.BigIntegerField(help_text="Per hour, all GPUs, the discount taken off.")
    list_rate_micros = models.BigIntegerField(help_text="Per hour without it.")
    total_micros = models.BigIntegerField(help_text="The whole term.")
    opened_at = models.DateTimeField(default=clock.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(rate_micros__gte=0, list_rate_micros__gte=F("rate_micros"), total_micros__gte=0),
                name="commitment_is_a_discount",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner"], condition=Q(ended_at__isnull=True), name="commitment_open"),
        ]

    def __str__(self) -> str:
        return f"commitment to term {self.term_id}"
