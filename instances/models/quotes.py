"""Quotes, by which instances are rented and changed."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from billing.pricing.estimates import NO_UPFRONT
from billing.pricing.rates import deposit_of
from common import clock
from common.ids import new_uuid
from instances.models.launches import Launch
from marketplace.pricing.prices import TERM_HOURS


class Quote(models.Model):
    """An all-in price for one order, valid until `expires_at`."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    renter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.CASCADE, related_name="+")
    offer_version = models.PositiveIntegerField()
    image = models.ForeignKey("storage.Image", on_delete=models.PROTECT, related_name="+")
    launch = models.ForeignKey(Launch, on_delete=models.PROTECT, null=True, blank=True, related_name="quotes")
    billing_mode = models.CharField(max_length=10, default="hourly")
    gpu_count = models.PositiveIntegerField()
    data_disk_gb = models.PositiveIntegerField()
    system_disk_gb = models.PositiveIntegerField(default=0, help_text="Hard limit of the root; 0: the host has none.")
    hours = models.PositiveIntegerField(default=1)
    term = models.CharField(max_length=6, blank=True, help_text="Of a reserved quote: day, week, month, year, year3.")
    payment = models.CharField(max_length=8, blank=True, help_text="Of a reserved quote: upfront or none.")
    max_price_micros = models.BigIntegerField(null=True, blank=True, help_text="Of a spot quote: per GPU and hour.")
    rate_micros_per_hour = models.BigIntegerField()
    due_now_micros = models.BigIntegerField()
    projected_micros = models.BigIntegerField()
    committed_micros = models.BigIntegerField(
        null=True, blank=True, help_text="Of a reserved quote: what its GPUs cost through the whole term, used or not."
    )
    lines = models.JSONField()
    template_version = models.UUIDField(null=True, blank=True, help_text="Version of the launch template; empty: none.")
    template = models.JSONField(null=True, blank=True, help_text="What was agreed of it: id, slug, title, version, ports.")
    for_instance = models.ForeignKey(
        "Instance", on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="Of a change in place."
    )
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="quote_has_gpus"),
            models.CheckConstraint(
                condition=Q(billing_mode__in=["hourly", "reserved", "tiered", "spot"]), name="quote_mode"
            ),
            models.CheckConstraint(
                condition=Q(template_version__isnull=True, template__isnull=True)
                | Q(template_version__isnull=False, template__isnull=False),
                name="quote_template_is_whole",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["template_version"], condition=Q(template_version__isnull=False), name="quote_by_template"),
        ]

    def __str__(self) -> str:
        return f"quote {self.id}"

    @property
    def deposit_micros(self) -> int:
        """Return the deposit within the amount due now, held until a term paid by the hour ends.

        A renewal ahead holds its deposit when it begins.
        """
        if self.payment != NO_UPFRONT or not self.due_now_micros or self.committed_micros is None:
            return 0
        rate = self.committed_micros // TERM_HOURS[self.term]
        return deposit_of(rate_micros=rate, total_micros=self.committed_micros)

    @property
    def has_paid_disk(self) -> bool:
        return any(line["unit"] == "GB-day" and line["amount"] != "0.00" for line in self.lines)
