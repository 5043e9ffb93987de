"""Metering: what runs at which price, money held for it, charged periods, and agreed terms."""

from datetime import datetime, timedelta
from typing import ClassVar, Final

from django.conf import settings
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, RangeOperators
from django.db import models
from django.db.models import ExpressionWrapper, F, Q
from django.db.models.functions import Least
from django.utils.translation import gettext_lazy as _

from billing.constants import HOLD_RENEWAL_LEAD, PROOF_BRIDGE
from billing.ledger_label_translations import ledger_label
from billing.models.ledger import AppendOnly, Entry, Posting, TsTzRange, Wallet
from billing.pricing.rates import elapsed_microseconds
from billing.pricing.tariffs import Tariff
from common import clock
from common.ids import new_uuid

# The end of what an open meter can be charged for, as things stand at the time `at`. Beyond its last proof that is at most
# the bridge: a later proof opens another meter, on the rest of the hold. The lead is the time to hold more in.
PAYABLE_UNTIL_SQL: Final = "CASE WHEN calendar THEN %(at)s ELSE LEAST(%(at)s, proven_until + %(provable)s) END"
PROVABLE: Final = PROOF_BRIDGE + HOLD_RENEWAL_LEAD
_END = Least("proven_until", "funded_until", "capped_at")  # PostgreSQL's LEAST ignores a missing cap


class Meter(models.Model):
    """Uninterrupted use of an opaque source, at the tariff that was fixed when it opened.

    [opened_at, min(proven_until, funded_until, capped_at)) is charged, see `billing.pricing`. A gap of more than
    `PROOF_BRIDGE` between proofs closes the meter and opens another. A `calendar` meter needs no proof: while it
    is open, it is charged by the clock; `proven_until` is written when it closes.

    Only usage rows move `settled_until` (trigger). No index contains it or `proven_until`, so that proofs and
    settlements rewrite no index; indexes use `is_finished` instead, which changes once.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    payer = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="+", db_index=False, verbose_name=_("payer"))
    payee = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="+", db_index=False, verbose_name=_("payee"))
    source_kind = models.CharField(_("kind of the source"), max_length=20)
    source_id = models.UUIDField(_("ID of the source"))
    label = models.CharField(_("label"), max_length=200, help_text="What the statement line says was used.")
    mode = models.CharField(_("billing mode"), max_length=10, blank=True, default="")
    gpu_model = models.CharField(_("GPU model"), max_length=60, blank=True, default="")
    calendar = models.BooleanField(
        _("billed by calendar time"), default=False, help_text="Charged by the clock, without proof."
    )
    rate_micros = models.BigIntegerField(
        _("rate (micro-units)"), help_text="For each `rate_hours` hours, before the first step."
    )
    rate_hours = models.PositiveSmallIntegerField(_("hours per rate unit"), default=1)
    steps_us = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text="Continuous use, microseconds.",
        verbose_name=_("starts of the steps (µs)"),
    )
    steps_micros = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text="The rate from each step on.",
        verbose_name=_("rates of the steps (micro-units)"),
    )
    most_micros = models.BigIntegerField(
        _("maximum (micro-units)"), null=True, blank=True, help_text="Where the rate moves: the most it can be."
    )
    base_us = models.BigIntegerField(
        _("metering start (µs)"), default=0, help_text="Continuous use before this meter, microseconds."
    )
    fee_bps = models.PositiveIntegerField(
        _("fee (basis points)"), help_text="Platform fee in hundredths of a percent of the charge."
    )
    opened_at = models.DateTimeField(_("opened at"))
    proven_until = models.DateTimeField(_("proven until"))
    funded_until = models.DateTimeField(_("funded until"), help_text="Up to here the open hold pays.")
    capped_at = models.DateTimeField(
        _("capped at"), null=True, blank=True, help_text="Stop request plus grace: nothing later is charged."
    )
    settled_until = models.DateTimeField(_("settled until"))
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    is_finished = models.GeneratedField(
        verbose_name=_("finished"),
        expression=ExpressionWrapper(
            Q(closed_at__isnull=False) & Q(settled_until__gte=_END), output_field=models.BooleanField()
        ),
        output_field=models.BooleanField(),
        db_persist=True,
        help_text="Closed, and all of it is charged.",
    )

    class Meta:
        verbose_name = _("meter")
        verbose_name_plural = _("meters")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(rate_micros__gte=0), name="meter_rate_not_negative"),
            models.CheckConstraint(condition=Q(rate_hours__gte=1), name="meter_rate_is_for_hours"),
            models.CheckConstraint(condition=Q(steps_us__len=F("steps_micros__len")), name="meter_step_has_its_rate"),
            models.CheckConstraint(condition=Q(base_us__gte=0), name="meter_base_not_negative"),
            models.CheckConstraint(condition=Q(fee_bps__lte=10_000), name="meter_fee_at_most_all"),
            models.CheckConstraint(condition=Q(proven_until__gte=F("opened_at")), name="meter_proof_after_opening"),
            models.CheckConstraint(
                condition=Q(settled_until__gte=F("opened_at"))
                & (Q(settled_until__lte=F("proven_until")) | Q(calendar=True, closed_at__isnull=True)),
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
                # Over closed meters only: at most one is open, and it is checked when it closes.
                # Keeping its growing range in this index too made every proof of a running source
                # half as expensive again (72 instead of 46 µs).
                condition=Q(closed_at__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["funded_until"], condition=Q(closed_at__isnull=True), name="meter_to_fund"),
            models.Index(fields=["payer", "id"], condition=Q(is_finished=False), name="meter_to_pay"),
            models.Index(fields=["payee"], condition=Q(is_finished=False), name="meter_to_earn"),
            models.Index(fields=["source_kind", "source_id"], name="meter_source"),
            models.Index(fields=["payee", "payer"], name="meter_between"),
        ]

    def __str__(self) -> str:
        return f"{ledger_label(self.label)} {self.opened_at:%Y-%m-%d %H:%M:%S}"

    @property
    def tariff(self) -> Tariff:
        steps = tuple(zip(self.steps_us, self.steps_micros, strict=True))
        return Tariff(self.rate_micros, self.rate_hours, steps, self.most_micros)

    def used_us(self, moment: datetime) -> int:
        """Return the continuous use up to a moment in microseconds; the steps of a tariff are counted on it."""
        return self.base_us + elapsed_microseconds(self.opened_at, moment)

    def moment(self, used_us: int) -> datetime:
        """Return when this much continuous use was reached."""
        return self.opened_at + timedelta(microseconds=used_us - self.base_us)


class Usage(AppendOnly):
    """Charged period of a meter, as a line of the payer's and the payee's statement.

    Append-only (trigger). Written with the two entries that it is part of. Each begins where the meter's last one
    ended, so that there is no gap and no overlap; the trigger that advances the meter checks it. That trigger also
    checks references, for all rows of a statement at once: constraints would look each of them up.
    """

    id = models.BigAutoField(primary_key=True)
    posting = models.ForeignKey(
        Posting,
        on_delete=models.PROTECT,
        related_name="usage",
        db_constraint=False,
        db_index=False,
        verbose_name=_("posting"),
    )
    charge_entry = models.ForeignKey(
        Entry,
        on_delete=models.PROTECT,
        related_name="paid_usage",
        db_constraint=False,
        verbose_name=_("entry of the charge"),
    )
    share_entry = models.ForeignKey(
        Entry,
        on_delete=models.PROTECT,
        related_name="earned_usage",
        db_constraint=False,
        verbose_name=_("entry of the host's share"),
    )
    meter = models.ForeignKey(
        Meter, on_delete=models.PROTECT, related_name="usage", db_constraint=False, db_index=False, verbose_name=_("meter")
    )
    period_from = models.DateTimeField(_("from"))
    period_to = models.DateTimeField(_("until"))
    rate_micros = models.BigIntegerField(_("rate (micro-units)"), help_text="For each `rate_hours` hours of the meter.")
    charge_micros = models.BigIntegerField(_("charged (micro-units)"))
    fee_micros = models.BigIntegerField(_("fee (micro-units)"))

    class Meta:
        verbose_name = _("usage record")
        verbose_name_plural = _("usage records")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(period_from__lt=F("period_to")), name="usage_has_its_period"),
            models.CheckConstraint(
                condition=Q(fee_micros__gte=0, charge_micros__gte=F("fee_micros")), name="usage_fee_within_charge"
            ),
            models.UniqueConstraint(fields=["meter", "period_from"], name="no_second_charged_twice"),
        ]

    def __str__(self) -> str:
        return f"{self.meter_id} #{self.pk}"


class Hold(models.Model):
    """Money held for one source until it is charged or released."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="holds", verbose_name=_("wallet"))
    source_kind = models.CharField(_("kind of the source"), max_length=20)
    source_id = models.UUIDField(_("ID of the source"))
    mode = models.CharField(_("billing mode"), max_length=10, blank=True, default="")
    gpu_model = models.CharField(_("GPU model"), max_length=60, blank=True, default="")
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    released_at = models.DateTimeField(_("released at"), null=True, blank=True)

    class Meta:
        verbose_name = _("hold")
        verbose_name_plural = _("holds")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount_micros__gte=0), name="hold_not_negative"),
            models.UniqueConstraint(
                fields=["source_kind", "source_id"], condition=Q(released_at__isnull=True), name="one_open_hold_per_source"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_kind}:{self.source_id}"


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
