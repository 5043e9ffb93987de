"""Orders, invoices with gapless numbers, and the addresses on them."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from billing.models.ledger import AppendOnly
from common import clock
from common.ids import new_uuid


class Order(models.Model):
    """One decision that cost or may cost money: a rent, a renewal, a conversion, a top-up, an early end."""

    class Kind(models.TextChoices):
        RENT = "rent", _("rent")
        START = "start", _("start")
        TERM = "term", _("reserved term")
        RENEWAL = "renewal", _("renewal")
        CONVERSION = "conversion", _("billing mode change")
        EARLY_END = "early_end", _("early termination")
        TOP_UP = "top_up", _("top-up")
        COUPON = "coupon", _("coupon")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="orders", verbose_name=_("owner")
    )
    kind = models.CharField(_("kind"), max_length=12, choices=Kind)
    key = models.CharField(
        _("key"), max_length=200, unique=True, help_text="Of the decision: written once, however often it is tried."
    )
    source_kind = models.CharField(_("kind of the source"), max_length=20)
    source_id = models.UUIDField(_("ID of the source"))
    title = models.CharField(_("title"), max_length=200)
    billing_mode = models.CharField(_("billing mode"), max_length=10, blank=True)
    amount_micros = models.BigIntegerField(
        _("amount (micro-units)"), default=0, help_text="Paid at once; negative: given back. Use is on the statement."
    )
    rate_micros_per_hour = models.BigIntegerField(_("rate per hour (micro-units)"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ("-created_at", "-id")
        indexes: ClassVar = [
            models.Index(fields=["owner", "-created_at"], name="order_of_owner"),
            models.Index(fields=["source_kind", "source_id"], name="order_of_source"),
        ]

    def __str__(self) -> str:
        return self.title


class BillingAddress(models.Model):
    """Address on a renter's invoices."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="billing_address"
    )
    name = models.CharField(_("name or company"), max_length=120)
    address = models.TextField(_("address"), max_length=500, blank=True)
    country = models.CharField(_("country"), max_length=2, blank=True, help_text=_("Two letters, as in ISO 3166."))
    tax_id = models.CharField(_("tax number"), max_length=40, blank=True)

    def __str__(self) -> str:
        return self.name


class InvoiceSeries(models.Model):
    """Last number given in a year; its row lock keeps the numbers free of gaps."""

    year = models.PositiveIntegerField(primary_key=True)
    last_number = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.year}: {self.last_number}"


class Invoice(AppendOnly):
    """Use of a renter in one month, stored when issued and never changed (trigger).

    A correction is a document of its own: a credit note over the whole amount and, on request, a new invoice.
    """

    class Kind(models.TextChoices):
        INVOICE = "invoice", _("invoice")
        CREDIT_NOTE = "credit_note", _("credit note")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="invoices", verbose_name=_("owner")
    )
    year = models.PositiveIntegerField(_("year"))
    number = models.PositiveIntegerField(_("number"))
    kind = models.CharField(_("kind"), max_length=11, choices=Kind, default=Kind.INVOICE)
    corrects = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        related_name="corrections",
        null=True,
        help_text="The invoice that this one corrects.",
        verbose_name=_("corrects"),
    )
    reason = models.CharField(_("reason"), max_length=200, blank=True, help_text="Of a correction.")
    actor = models.CharField(_("done by"), max_length=80, default="sweep")
    period_from = models.DateTimeField(_("from"))
    period_to = models.DateTimeField(_("until"))
    currency = models.CharField(_("currency"), max_length=3)
    total_micros = models.BigIntegerField(
        _("total (micro-units)"), help_text="Tax included, of everything charged in the period."
    )
    tax_bps = models.PositiveIntegerField(_("tax (basis points)"), default=0)
    tax_micros = models.BigIntegerField(_("tax (micro-units)"), default=0, help_text="The tax within the total.")
    coupon_micros = models.BigIntegerField(
        _("paid by coupons (micro-units)"), default=0, help_text="The part that coupons paid."
    )
    buyer = models.JSONField(_("buyer"), default=dict)
    seller = models.JSONField(_("seller"), default=dict)
    lines = models.JSONField(_("lines"), default=list)
    issued_at = models.DateTimeField(_("issued at"), default=clock.now)

    class Meta:
        verbose_name = _("invoice")
        verbose_name_plural = _("invoices")
        ordering = ("-issued_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["year", "number"], name="one_invoice_per_number"),
            models.UniqueConstraint(
                fields=["owner", "period_from"], condition=Q(corrects__isnull=True), name="one_invoice_per_period"
            ),
            models.UniqueConstraint(fields=["corrects", "kind"], condition=Q(corrects__isnull=False), name="corrected_once"),
            models.CheckConstraint(
                condition=Q(kind="invoice") | Q(kind="credit_note", corrects__isnull=False), name="credit_note_corrects"
            ),
            models.CheckConstraint(condition=Q(period_from__lt=F("period_to")), name="invoice_period_is_forward"),
        ]

    def __str__(self) -> str:
        return self.full_number

    @property
    def full_number(self) -> str:
        prefix = "CN" if self.kind == self.Kind.CREDIT_NOTE else "INV"
        return f"{prefix}-{self.year}-{self.number:06d}"

    @property
    def net_micros(self) -> int:
        return self.total_micros - self.tax_micros

    @property
    def cash_micros(self) -> int:
        """Return what the wallet itself paid."""
        return self.total_micros - self.coupon_micros
