"""Money from outside: saved cards, payments by Stripe with events, refunds, disputes; and freezes."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from billing.states import DisputeState, PaymentState, RefundState
from common import clock
from common.ids import new_uuid


class PaymentProfile(models.Model):
    """A renter's customer id at Stripe, the saved card, and the rule of automatic top-ups."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="payment_profile",
        verbose_name=_("owner"),
    )
    customer_id = models.CharField(_("Stripe customer ID"), max_length=64, unique=True, null=True, blank=True)
    card_id = models.CharField(
        _("Stripe payment method ID"), max_length=64, blank=True, help_text="Stripe's id of the saved payment method."
    )
    card_brand = models.CharField(_("card brand"), max_length=20, blank=True)
    card_last4 = models.CharField(_("last four digits"), max_length=4, blank=True)
    auto_enabled = models.BooleanField(_("auto top-up"), default=False)
    auto_threshold_micros = models.BigIntegerField(
        _("top-up threshold (micro-units)"), default=0, help_text="Tops up when less than this can be spent."
    )
    auto_amount_micros = models.BigIntegerField(_("top-up amount (micro-units)"), default=0)
    auto_monthly_cap_micros = models.BigIntegerField(
        _("monthly top-up limit (micro-units)"), default=0, help_text="In one calendar month (UTC)."
    )
    auto_tried_at = models.DateTimeField(
        _("last top-up attempt"), null=True, blank=True, help_text="At most one try an hour."
    )
    auto_failure = models.CharField(
        _("top-up failure"), max_length=200, blank=True, help_text="It rests until the owner has seen to this."
    )
    auto_told_at = models.DateTimeField(
        _("top-up notification sent at"), null=True, blank=True, help_text="When its owner was written to about that."
    )
    language = models.CharField(_("language"), max_length=10, default="en", help_text="Of mails about it.")

    class Meta:
        verbose_name = _("payment profile")
        verbose_name_plural = _("payment profiles")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(auto_enabled=False)
                | Q(auto_amount_micros__gt=0, auto_threshold_micros__gte=0)
                & Q(auto_monthly_cap_micros__gte=F("auto_amount_micros")),
                name="auto_top_up_is_complete",
            ),
        ]

    def __str__(self) -> str:
        return str(self.owner_id)


class Payment(models.Model):
    """Top-up, credited once when Stripe says it is paid.

    Its id is the idempotency key at Stripe and of its posting.
    """

    class Origin(models.TextChoices):
        CHECKOUT = "checkout", _("checkout")
        AUTO = "auto", _("automatic top-up")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payments", verbose_name=_("owner")
    )
    origin = models.CharField(_("origin"), max_length=10, choices=Origin, default=Origin.CHECKOUT)
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))
    state = models.CharField(_("state"), max_length=10, choices=PaymentState, default=PaymentState.PENDING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    session_id = models.CharField(_("Stripe checkout ID"), max_length=100, unique=True, null=True, blank=True)
    intent_id = models.CharField(_("Stripe payment intent ID"), max_length=100, unique=True, null=True, blank=True)
    charge_id = models.CharField(_("Stripe charge ID"), max_length=100, unique=True, null=True, blank=True)
    checkout_url = models.TextField(_("checkout page"), blank=True)
    refunded_micros = models.BigIntegerField(_("refunded (micro-units)"), default=0)
    failure = models.CharField(_("failure"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    paid_at = models.DateTimeField(_("paid at"), null=True, blank=True)

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount_micros__gt=0), name="payment_is_positive"),
            models.CheckConstraint(condition=Q(state__in=PaymentState.values), name="payment_state"),
            models.CheckConstraint(
                condition=Q(refunded_micros__gte=0, refunded_micros__lte=F("amount_micros")),
                name="payment_refunds_at_most_all",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner", "-created_at"], name="payment_of_owner"),
            models.Index(fields=["created_at"], condition=Q(state="pending"), name="payment_pending"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class StripeEvent(models.Model):
    """Message signed by Stripe, stored once per id; the object that it is about is fetched again."""

    id = models.CharField("ID", primary_key=True, max_length=100)
    kind = models.CharField(_("kind"), max_length=80)
    object_id = models.CharField(_("Stripe object ID"), max_length=100)
    created_at = models.DateTimeField(_("created at"), help_text="By Stripe's clock.")
    received_at = models.DateTimeField(_("received at"), default=clock.now)
    deliveries = models.PositiveIntegerField(_("deliveries"), default=1)
    tries = models.PositiveIntegerField(_("attempts"), default=0)
    retry_at = models.DateTimeField(_("next attempt at"), default=clock.now, help_text="Not applied again before.")
    applied_at = models.DateTimeField(_("applied at"), null=True, blank=True)
    outcome = models.CharField(_("outcome"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("Stripe event")
        verbose_name_plural = _("Stripe events")
        indexes: ClassVar = [
            models.Index(fields=["received_at"], condition=Q(applied_at__isnull=True), name="stripe_event_to_apply"),
            models.Index(fields=["object_id"], name="stripe_event_of_object"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Refund(models.Model):
    """Cash given back to the card that paid; its id is Stripe's idempotency key."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="refunds", verbose_name=_("payment"))
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))
    state = models.CharField(_("state"), max_length=10, choices=RefundState, default=RefundState.PENDING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    stripe_id = models.CharField(_("Stripe ID"), max_length=100, unique=True, null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    actor = models.CharField(_("done by"), max_length=80)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    settled_at = models.DateTimeField(_("settled at"), null=True, blank=True)

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount_micros__gt=0), name="refund_is_positive"),
            models.CheckConstraint(condition=Q(state__in=RefundState.values), name="refund_state"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Dispute(models.Model):
    """Payment that the cardholder's bank took back, finally or until the case is decided."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="disputes", verbose_name=_("payment"))
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))
    state = models.CharField(_("state"), max_length=10, choices=DisputeState, default=DisputeState.OPEN)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    stripe_id = models.CharField(_("Stripe ID"), max_length=100, unique=True)
    reason = models.CharField(_("reason"), max_length=80, blank=True)
    opened_at = models.DateTimeField(_("opened at"), default=clock.now)
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)

    class Meta:
        verbose_name = _("dispute")
        verbose_name_plural = _("disputes")
        ordering = ("-opened_at", "-id")
        constraints: ClassVar = [models.CheckConstraint(condition=Q(state__in=DisputeState.values), name="dispute_state")]

    def __str__(self) -> str:
        return self.stripe_id


class Reconciliation(models.Model):
    """One comparison of the ledger with Stripe; the next begins where the last successful one ended."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    requested_by = models.CharField(_("requested by"), max_length=80)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    since = models.DateTimeField(_("since"), null=True, blank=True)
    until = models.DateTimeField(_("until"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    seen = models.PositiveIntegerField(_("reconciled"), default=0, help_text="Objects of Stripe that were looked at.")
    healed = models.PositiveIntegerField(_("repaired"), default=0, help_text="Of these, what no delivery had told before.")
    findings = models.JSONField(_("findings"), default=list, help_text="What still differs.")
    failure = models.CharField(_("failure"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("reconciliation")
        verbose_name_plural = _("reconciliations")
        ordering = ("-created_at", "-id")
        indexes: ClassVar = [
            models.Index(fields=["created_at"], condition=Q(finished_at__isnull=True), name="reconciliation_to_run"),
            models.Index(fields=["-until"], condition=Q(failure="", finished_at__isnull=False), name="reconciliation_good"),
        ]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M}"


class MoneyFreeze(models.Model):
    """Stop of payouts, refunds and automatic top-ups from a restore until Stripe and the ledger agree."""

    id = models.BigAutoField(primary_key=True)
    reason = models.CharField(_("reason"), max_length=200)
    since = models.DateTimeField(_("since"), default=clock.now)
    lifted_at = models.DateTimeField(_("lifted at"), null=True, blank=True)
    lifted_by = models.CharField(_("lifted by"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("money freeze")
        verbose_name_plural = _("money freezes")
        ordering = ("-id",)
        constraints: ClassVar = [
            models.UniqueConstraint("lifted_at", condition=Q(lifted_at=None), nulls_distinct=False, name="one_money_freeze")
        ]

    def __str__(self) -> str:
        return f"{self.since:%Y-%m-%d %H:%M:%S} {self.reason}"
