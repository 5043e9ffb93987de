"""Coupons: codes made by staff, the credit that a renter redeemed, and what sources drew from it."""

from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Upper
from django.db.models.lookups import LessThanOrEqual
from django.utils.translation import gettext_lazy as _

from billing.constants import GRANT_ALONE_MICROS
from common import clock
from common.ids import new_uuid

_WORTH = Coalesce(Coalesce(F("amount_micros"), F("most_micros")) * F("total_limit"), Value(GRANT_ALONE_MICROS + 1))
"""SQL for the most that a code can give; an unlimited one counts as too much for one person."""


class CouponCode(models.Model):
    """Code that staff hand out: `fixed` gives an amount at once, `percent` a bonus on the next top-up.

    The bonus is limited by `most_micros`. A code that can give more than one member of staff may grant alone
    `waits` for a second one (constraint).
    """

    class Kind(models.TextChoices):
        FIXED = "fixed", _("fixed amount")
        PERCENT = "percent", _("percentage of a top-up")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    code = models.CharField(_("code"), max_length=40, help_text="Letters, digits and hyphens; case does not matter.")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    amount_micros = models.BigIntegerField(_("amount (micro-units)"), null=True, blank=True, help_text="Of a fixed one.")
    percent_bps = models.PositiveIntegerField(
        _("share (basis points)"), null=True, blank=True, help_text="Of a percent one: hundredths of a percent."
    )
    most_micros = models.BigIntegerField(
        _("maximum (micro-units)"), null=True, blank=True, help_text="Of a percent one: never more than this."
    )
    modes = ArrayField(
        models.CharField(max_length=10),
        default=list,
        blank=True,
        help_text="Empty: every billing mode.",
        verbose_name=_("billing modes"),
    )
    gpu_models = ArrayField(
        models.CharField(max_length=60),
        default=list,
        blank=True,
        help_text="Empty: every GPU model.",
        verbose_name=_("GPU models"),
    )
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True, help_text="Of the code.")
    valid_days = models.PositiveIntegerField(
        _("valid for (days)"), null=True, blank=True, help_text="How long the credit lasts; empty: for good."
    )
    per_user = models.PositiveIntegerField(_("uses per account"), default=1)
    total_limit = models.PositiveIntegerField(_("total uses"), null=True, blank=True)
    redeemed = models.PositiveIntegerField(_("times redeemed"), default=0)
    active = models.BooleanField(_("enabled"), default=True)
    created_by = models.CharField(_("created by"), max_length=80)
    confirmed_by = models.CharField(_("confirmed by"), max_length=80, blank=True, default="")
    waits = models.BooleanField(_("awaiting a second approval"), default=False)
    created_at = models.DateTimeField(_("created at"), default=clock.now)

    class Meta:
        verbose_name = _("coupon code")
        verbose_name_plural = _("coupon codes")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(Upper("code"), name="one_coupon_per_code"),
            models.CheckConstraint(
                condition=Q(kind="fixed", amount_micros__gt=0)
                | Q(kind="percent", percent_bps__gt=0, percent_bps__lte=10_000),
                name="coupon_code_gives_something",
            ),
            models.CheckConstraint(
                condition=Q(total_limit__isnull=True) | Q(redeemed__lte=F("total_limit")), name="coupon_code_within_limit"
            ),
            models.CheckConstraint(
                condition=~Q(confirmed_by=F("created_by"))
                & (Q(active=False) | Q(waits=False))
                & (Q(waits=True) | ~Q(confirmed_by="") | Q(LessThanOrEqual(_WORTH, GRANT_ALONE_MICROS))),
                name="large_coupon_code_has_two_people",
            ),
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def worth_micros(self) -> int | None:
        """Return what the code can give in all, or None where nothing limits it."""
        one = self.most_micros if self.amount_micros is None else self.amount_micros
        return None if one is None or self.total_limit is None else one * self.total_limit

    def credit_ends(self, begin: datetime) -> datetime | None:
        """Return until when credit that begins at `begin` can be spent."""
        return None if self.valid_days is None else begin + timedelta(days=self.valid_days)


class Coupon(models.Model):
    """Redeemed credit: spent before cash on what its code allows, and never paid out.

    Its money is in the owner's coupon wallet; `remaining_micros` is this coupon's part. A percent coupon is empty
    until the next top-up.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    code = models.ForeignKey(CouponCode, on_delete=models.PROTECT, related_name="coupons", verbose_name=_("code"))
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="coupons", verbose_name=_("owner")
    )
    number = models.PositiveIntegerField(_("number"), default=1, help_text="The owner's first, second … by this code.")
    waits_for_top_up = models.BooleanField(_("awaiting a top-up"), default=False)
    payment = models.ForeignKey(
        "billing.Payment",
        on_delete=models.PROTECT,
        related_name="coupons",
        null=True,
        help_text="The top-up it grew from.",
        verbose_name=_("payment"),
    )
    granted_micros = models.BigIntegerField(_("granted (micro-units)"), default=0)
    remaining_micros = models.BigIntegerField(_("remaining (micro-units)"), default=0)
    repaid_micros = models.BigIntegerField(
        _("repaid (micro-units)"),
        default=0,
        help_text="Paid with cash for what was used of it, and the kept part of its top-up does not give.",
    )
    waived_micros = models.BigIntegerField(
        _("waived (micro-units)"),
        default=0,
        help_text="The same, from refunds before it had to be paid for: it never has to be.",
    )
    redeemed_at = models.DateTimeField(_("redeemed at"), default=clock.now)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    expired_at = models.DateTimeField(_("expired at"), null=True, blank=True, help_text="When what remained was taken back.")

    class Meta:
        verbose_name = _("coupon")
        verbose_name_plural = _("coupons")
        ordering = ("expires_at", "redeemed_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(remaining_micros__gte=0, remaining_micros__lte=F("granted_micros")),
                name="coupon_remains_within_grant",
            ),
            models.CheckConstraint(
                condition=Q(repaid_micros__gte=0, repaid_micros__lte=F("granted_micros"), waived_micros__gte=0),
                name="coupon_repaid_within_grant",
            ),
            models.UniqueConstraint(fields=["code", "owner", "number"], name="one_coupon_per_code_owner_and_number"),
            models.UniqueConstraint(fields=["payment"], condition=Q(payment__isnull=False), name="one_coupon_per_top_up"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner"], condition=Q(remaining_micros__gt=0), name="coupon_to_spend"),
            models.Index(fields=["expires_at"], condition=Q(expired_at__isnull=True), name="coupon_to_expire"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class CouponDraw(models.Model):
    """Amount that a source's hold took from a coupon; releasing the hold returns the unused part.

    Coupon money is consumed first: what the source pays beyond `seen_micros` adds to `used_micros` of its open
    draws.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    coupon = models.ForeignKey(Coupon, on_delete=models.PROTECT, related_name="draws", verbose_name=_("coupon"))
    source_kind = models.CharField(_("kind of the source"), max_length=20)
    source_id = models.UUIDField(_("ID of the source"))
    drawn_micros = models.BigIntegerField(_("charged to the coupon (micro-units)"), default=0)
    used_micros = models.BigIntegerField(_("used (micro-units)"), default=0)
    returned_micros = models.BigIntegerField(_("returned (micro-units)"), default=0)
    seen_micros = models.BigIntegerField(
        _("counted (micro-units)"), default=0, help_text="What the source had paid in all when this was last reckoned."
    )
    opened_at = models.DateTimeField(_("opened at"), default=clock.now)
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)

    class Meta:
        verbose_name = _("coupon use")
        verbose_name_plural = _("coupon uses")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["coupon", "source_kind", "source_id"],
                condition=Q(closed_at__isnull=True),
                name="one_open_draw_per_coupon_and_source",
            ),
            models.CheckConstraint(
                condition=Q(returned_micros__gte=0, returned_micros__lte=F("drawn_micros")), name="draw_returns_at_most_all"
            ),
            models.CheckConstraint(
                condition=Q(used_micros__gte=0, used_micros__lte=F("drawn_micros") - F("returned_micros")),
                name="draw_uses_at_most_all",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["source_kind", "source_id"], name="draw_of_source")]

    def __str__(self) -> str:
        return f"draw {self.id}"
