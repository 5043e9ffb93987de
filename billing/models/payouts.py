"""Payouts to host owners, the accounts that receive them, and earnings that are held back."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from billing.models.payout_destinations import Destination, destination_of
from billing.states import PayoutState
from common import clock
from common.ids import new_uuid


class PayoutMethod(models.TextChoices):
    STRIPE = "stripe", _("Stripe")
    BANK = "bank", _("bank transfer")


class PayoutAccount(models.Model):
    """Account that receives a host owner's earnings."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="payout_account",
        verbose_name=_("owner"),
    )
    method = models.CharField(_("payout method"), max_length=6, choices=PayoutMethod, default=PayoutMethod.BANK)
    stripe_account_id = models.CharField(_("Stripe account ID"), max_length=64, blank=True)
    holder = models.CharField(_("account holder"), max_length=120, blank=True)
    iban = models.CharField(_("IBAN or account number"), max_length=40, blank=True)
    bank = models.CharField(_("bank or BIC"), max_length=80, blank=True)
    minimum_micros = models.BigIntegerField(
        _("minimum payout (micro-units)"), default=10_000_000, help_text="Pay out by itself from this amount on."
    )
    automatic = models.BooleanField(_("weekly payouts"), default=True)
    frozen = models.BooleanField(_("frozen"), default=False, help_text="Set by staff: nothing is paid out.")
    frozen_reason = models.CharField(
        _("reason for the freeze"), max_length=200, blank=True, help_text="The host owner reads it."
    )
    changed_at = models.DateTimeField(_("changed at"), default=clock.now, help_text="When it was last filled in.")
    pays_from = models.DateTimeField(
        _("payouts from"), null=True, blank=True, help_text="No payout goes there before: it is new."
    )

    class Meta:
        verbose_name = _("payout account")
        verbose_name_plural = _("payout accounts")
        constraints: ClassVar = [models.CheckConstraint(condition=Q(minimum_micros__gt=0), name="payout_minimum_positive")]

    def __str__(self) -> str:
        return str(self.owner_id)

    def waits_at(self, now: datetime) -> bool:
        return self.pays_from is not None and self.pays_from > now

    @property
    def destination(self) -> Destination:
        if self.method == PayoutMethod.STRIPE:
            return Destination(self.method, stripe_account_id=self.stripe_account_id)
        return Destination(self.method, holder=self.holder, iban=self.iban, bank=self.bank)


class ConnectedAccount(models.Model):
    """A host owner's account at Stripe, created here, and whether Stripe can pay it."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="connected_account"
    )
    account_id = models.CharField(max_length=64, unique=True)
    is_ready = models.BooleanField(default=False, help_text="May receive transfers, and Stripe pays it out.")
    needs = models.CharField(max_length=200, blank=True, help_text="What Stripe still asks for, in Stripe's names.")
    checked_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return self.account_id


class Payout(models.Model):
    """Matured earnings on their way to the host owner.

    Its id is the idempotency key at Stripe and of its postings.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payouts", verbose_name=_("owner")
    )
    method = models.CharField(_("payout method"), max_length=6, choices=PayoutMethod)
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))
    state = models.CharField(_("state"), max_length=10, choices=PayoutState, default=PayoutState.PENDING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    matured_until = models.DateTimeField(_("earned until"), help_text="Earnings up to here had matured.")
    destination = models.JSONField(
        _("destination"), default=dict, help_text="The account as it was then: a later change moves no money."
    )
    batch = models.CharField(_("batch"), max_length=40, blank=True, help_text="Of the bank export that it was sent with.")
    reference = models.CharField(
        _("reference"), max_length=100, blank=True, help_text="Stripe's transfer, or the bank's own reference."
    )
    failure = models.CharField(_("failure"), max_length=200, blank=True)
    requested_by = models.CharField(_("requested by"), max_length=80)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    settled_at = models.DateTimeField(_("settled at"), null=True, blank=True)
    settled_by = models.CharField(_("settled by"), max_length=80, blank=True)

    class Meta:
        verbose_name = _("payout")
        verbose_name_plural = _("payouts")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount_micros__gt=0), name="payout_is_positive"),
            models.CheckConstraint(condition=Q(state__in=PayoutState.values), name="payout_state"),
            models.UniqueConstraint(
                fields=["owner"], condition=Q(state__in=["pending", "sent"]), name="one_payout_under_way_per_owner"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner", "-created_at"], name="payout_of_owner"),
            models.Index(fields=["created_at"], condition=Q(state__in=["pending", "sent"]), name="payout_under_way"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def ending(self) -> str:
        """Return the last characters of the receiving account."""
        return destination_of(self.destination).ending


class Holdback(models.Model):
    """Report under review: while it is open, earnings from the source are not paid out."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    source_kind = models.CharField(max_length=20)
    source_id = models.UUIDField()
    opened_at = models.DateTimeField(default=clock.now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source_kind", "source_id"], condition=Q(closed_at__isnull=True), name="one_open_holdback_of_source"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner"], condition=Q(closed_at__isnull=True), name="holdback_open"),
        ]

    def __str__(self) -> str:
        return f"{self.source_kind} {self.source_id}"
