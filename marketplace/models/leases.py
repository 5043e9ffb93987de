"""Leases of GPUs, and incidents for staff."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from marketplace.models.hosts import Gpu
from marketplace.models.offers import Offer


class Lease(models.Model):
    """One GPU and its share of CPU and memory, held exclusively by one opaque holder.

    It ends only on proof of absence or by a logged write-off (D2).
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    gpu = models.ForeignKey(Gpu, on_delete=models.PROTECT, related_name="leases", verbose_name=_("GPU"))
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="leases", verbose_name=_("offer"))
    holder = models.UUIDField(_("holder"))
    price_micros = models.BigIntegerField(_("price (micro-units)"), help_text="Per hour, of this one GPU.")
    cpu_millis = models.PositiveIntegerField(_("CPU (thousandths of a core)"), default=0)
    ram_mb = models.PositiveIntegerField(_("memory (MB)"), default=0)
    spot = models.BooleanField(_("spot"), default=False, help_text="Yields to hourly and reserved rents after notice.")
    promised_until = models.DateTimeField(
        _("committed until"),
        null=True,
        blank=True,
        help_text="The end that the host had named when it was leased; it may move only later.",
    )
    leased_at = models.DateTimeField(_("leased at"), default=clock.now)
    released_at = models.DateTimeField(_("released at"), null=True, blank=True)
    release_reason = models.CharField(_("release reason"), max_length=40, blank=True)

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["gpu"], condition=Q(released_at__isnull=True), name="one_live_lease_per_gpu"),
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) | Q(released_at__gte=F("leased_at")), name="lease_ends_after_start"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["holder"], condition=Q(released_at__isnull=True), name="live_lease_of_holder"),
            models.Index(fields=["holder", "leased_at"], name="lease_of_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.gpu_id} → {self.holder}"


class Claim(models.Model):
    """GPUs that an accepted order waits for while spot rents end; nobody else may take them.

    It ends in the transaction that leases them, or with the order.
    """

    holder = models.UUIDField(primary_key=True)
    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="claims")
    gpu_count = models.PositiveIntegerField()
    price_micros = models.BigIntegerField(help_text="Per hour and GPU, as ordered.")
    made_at = models.DateTimeField(default=clock.now, help_text="First come, first served.")

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=Q(gpu_count__gt=0), name="claim_has_gpus")]

    def __str__(self) -> str:
        return f"claim on {self.gpu_count} of {self.offer_id}"


class Incident(models.Model):
    """Difference that no rule explains, for staff to examine; one open row per kind and subject."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(_("kind"), max_length=40)
    subject = models.CharField(_("subject"), max_length=120)
    detail = models.TextField(_("detail"))
    message = MessageField()
    opened_at = models.DateTimeField(_("opened at"), default=clock.now)
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    closed_by = models.CharField(
        _("closed by"), max_length=80, blank=True, help_text="Who closed it, or what; empty where it was found to be over."
    )

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        ordering = ("-id",)
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"], condition=Q(closed_at__isnull=True), name="one_open_incident_per_subject"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"
