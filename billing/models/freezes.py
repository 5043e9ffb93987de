"""Periods in which no money may leave the market, since it is not known what has left already."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock


class MoneyFreeze(models.Model):
    """Stop of payouts, refunds and automatic top-ups from a restore until Stripe and the ledger agree."""

    id = models.BigAutoField(primary_key=True)
    reason = models.CharField(_("reason"), max_length=200)
    since = models.DateTimeField(_("since"), default=clock.now)
    lifted_at = models.DateTimeField(_("lifted at"), null=True, blank=True)
    lifted_by = models.CharField(_("lifted by"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("freeze of money")
        verbose_name_plural = _("freezes of money")
        ordering = ("-id",)
        constraints: ClassVar = [
            models.UniqueConstraint("lifted_at", condition=Q(lifted_at=None), nulls_distinct=False, name="one_money_freeze")
        ]

    def __str__(self) -> str:
        return f"{self.since:%Y-%m-%d %H:%M:%S} {self.reason}"
