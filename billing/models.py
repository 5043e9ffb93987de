"""Money: wallets, double-entry postings, holds and meters. Rows of the ledger are never changed or deleted."""

from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Least
from django.utils.translation import gettext_lazy as _

from billing.errors import LedgerIsAppendOnly
from common import clock
from common.ids import new_uuid

ACCRUING = Q(settled_until__lt=Least("proven_until", "funded_until", "capped_at"))
"""Meters with proven, funded, uncapped time that no posting has charged yet (LEAST passes over a missing cap)."""


class TsTzRange(Func):
    """PostgreSQL's half-open range [a, b) of two timestamps."""

    function = "TSTZRANGE"
    output_field = models.Field()  # only its place in SQL matters


class Wallet(models.Model):
    """An account of the ledger. `balance_micros` is a cache of its entries, `held_micros` of its open holds."""

    class Kind(models.TextChoices):
        RENTER = "renter", _("renter")
        HOST = "host", _("host earnings")
        PLATFORM = "platform", _("platform fees")
        FUNDING = "funding", _("outside money")  # the other side of top-ups, grants and payouts; goes negative

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="wallets", null=True, blank=True
    )
    kind = models.CharField(max_length=10, choices=Kind)
    balance_micros = models.BigIntegerField(default=0)
    held_micros = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=["renter", "host", "platform", "funding"]), name="wallet_kind"),
            models.CheckConstraint(condition=Q(held_micros__gte=0), name="wallet_held_not_negative"),
            models.CheckConstraint(
                condition=~Q(kind="renter") | Q(balance_micros__gte=F("held_micros")), name="wallet_never_overspent"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["renter", "host"], owner__isnull=False)
                | Q(kind__in=["platform", "funding"], owner__isnull=True),
                name="wallet_owner_by_kind",
            ),
            models.UniqueConstraint(fields=["owner", "kind"], condition=Q(owner__isnull=False), name="one_wallet_per_owner"),
            models.UniqueConstraint(fields=["kind"], condition=Q(owner__isnull=True), name="one_market_wallet_per_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def spendable_micros(self) -> int:
        return self.balance_micros - self.held_micros


class Meter(models.Model):
    """One uninterrupted, proven stretch of use of an opaque source, with the price frozen when it opened.

    Charged is [opened_at, min(proven_until, funded_until, capped_at)), see `billing.pricing`. A gap in the proof of
    more than `PROOF_BRIDGE` closes the meter and opens another.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    payer = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="+")
    payee = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="+")
    source_kind = models.CharField(max_length=20)
    source_id = models.UUIDField()
    label = models.CharField(max_length=200, help_text="What the statement line says was used.")
    rate_micros_per_hour = models.BigIntegerField()
    fee_bps = models.PositiveIntegerField(help_text="Platform fee in hundredths of a percent of the charge.")
    opened_at = models.DateTimeField()
    proven_until = models.DateTimeField()
    funded_until = models.DateTimeField(help_text="Up to here the open hold pays.")
    capped_at = models.DateTimeField(null=True, blank=True, help_text="Stop request plus grace: nothing later is charged.")
    settled_until = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(rate_micros_per_hour__gte=0), name="meter_rate_not_negative"),
            models.CheckConstraint(condition=Q(fee_bps__lte=10_000), name="meter_fee_at_most_all"),
            models.CheckConstraint(condition=Q(proven_until__gte=F("opened_at")), name="meter_proof_after_opening"),
            models.CheckConstraint(
                condition=Q(settled_until__gte=F("opened_at"), settled_until__lte=F("proven_until")),
                name="meter_settles_only_proof",
            ),
            models.CheckConstraint(condition=Q(funded_until__gte=F("settled_until")), name="meter_settles_only_funded"),
            models.UniqueConstraint(
                fields=["source_kind", "source_id"], condition=Q(closed_at__isnull=True), name="one_open_meter_per_source"
            ),
            ExclusionConstraint(
                name="meters_of_a_source_never_overlap",
                expressions=[
                    ("source_kind", RangeOperators.EQUAL),
                    ("source_id", RangeOperators.EQUAL),
                    (TsTzRange("opened_at", "proven_until"), RangeOperators.OVERLAPS),
                ],
                # Of the closed ones: at most one is open, and it is compared when it closes. Keeping its growing range in
                # this index too made every proof of every running source half as dear again (72 against 46 µs).
                condition=Q(closed_at__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["funded_until"], condition=Q(closed_at__isnull=True), name="meter_to_fund"),
            models.Index(fields=["settled_until"], condition=ACCRUING & Q(closed_at__isnull=True), name="meter_to_settle"),
            models.Index(fields=["id"], condition=ACCRUING & Q(closed_at__isnull=False), name="meter_to_finish"),
            models.Index(fields=["payer"], condition=ACCRUING, name="meter_accruing"),
            models.Index(fields=["source_kind", "source_id"], name="meter_source"),
        ]

    def __str__(self) -> str:
        return f"{self.label} from {self.opened_at:%Y-%m-%d %H:%M:%S}"


class AppendOnly(models.Model):
    """A row that can only be written once; the database's triggers say the same to whoever goes around this class."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise LedgerIsAppendOnly
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise LedgerIsAppendOnly


class Posting(AppendOnly):
    """A balanced set of entries with one reason. `idempotency_key` is unique for good. Append-only (trigger)."""

    class Kind(models.TextChoices):
        USAGE = "usage", _("usage")
        GRANT = "grant", _("credit granted")
        CREDIT = "credit", _("given back")  # what a part of a run cost, since the host failed

    id = models.BigAutoField(primary_key=True)
    idempotency_key = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=10, choices=Kind)
    source_kind = models.CharField(max_length=20)
    source_id = models.UUIDField()
    memo = models.CharField(max_length=200)
    actor = models.CharField(max_length=80)
    meter = models.ForeignKey(Meter, on_delete=models.PROTECT, related_name="postings", null=True)
    period_from = models.DateTimeField(null=True)
    period_to = models.DateTimeField(null=True)
    rate_micros_per_hour = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(kind="grant", meter__isnull=True)
                | Q(kind="usage", meter__isnull=False, period_from__lt=F("period_to"), rate_micros_per_hour__isnull=False)
                | Q(kind="credit", meter__isnull=True, period_from__lt=F("period_to"), rate_micros_per_hour__isnull=False),
                name="usage_has_its_period",
            ),
            ExclusionConstraint(
                name="no_second_charged_twice",
                expressions=[
                    ("meter", RangeOperators.EQUAL),
                    (TsTzRange("period_from", "period_to"), RangeOperators.OVERLAPS),
                ],
                condition=Q(meter__isnull=False),
            ),
            ExclusionConstraint(
                name="no_second_given_back_twice",
                expressions=[
                    ("source_kind", RangeOperators.EQUAL),
                    ("source_id", RangeOperators.EQUAL),
                    (TsTzRange("period_from", "period_to"), RangeOperators.OVERLAPS),
                ],
                condition=Q(kind="credit"),
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["source_kind", "source_id"], name="posting_source")]

    def __str__(self) -> str:
        return f"{self.kind} {self.idempotency_key}"


class Entry(AppendOnly):
    """One movement of one wallet. The entries of a posting add up to zero (deferred trigger). Append-only (trigger)."""

    class Kind(models.TextChoices):
        CHARGE = "charge", _("charge")
        HOST_SHARE = "host_share", _("host's share")
        PLATFORM_FEE = "platform_fee", _("platform fee")
        CREDIT = "credit", _("credit")
        REFUND = "refund", _("given back")
        FUNDING = "funding", _("funding")

    id = models.BigAutoField(primary_key=True)
    posting = models.ForeignKey(Posting, on_delete=models.PROTECT, related_name="entries")
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=12, choices=Kind)
    amount_micros = models.BigIntegerField()

    class Meta:
        verbose_name_plural = "entries"
        indexes: ClassVar = [models.Index(fields=["wallet", "-id"], name="entry_of_wallet")]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_micros}"


class Hold(models.Model):
    """Money set aside for one source until it is charged or released."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="holds")
    source_kind = models.CharField(max_length=20)
    source_id = models.UUIDField()
    amount_micros = models.BigIntegerField()
    created_at = models.DateTimeField(default=clock.now)
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount_micros__gte=0), name="hold_not_negative"),
            models.UniqueConstraint(
                fields=["source_kind", "source_id"], condition=Q(released_at__isnull=True), name="one_open_hold_per_source"
            ),
        ]

    def __str__(self) -> str:
        return f"hold {self.amount_micros} for {self.source_kind} {self.source_id}"
