"""The ledger: wallets and double-entry postings; postings and entries are never changed or deleted."""

from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Func, Q
from django.utils.translation import gettext_lazy as _

from billing.constants import GRANT_ALONE_MICROS
from billing.errors import LedgerIsAppendOnly
from common import clock
from common.ids import new_uuid

OWNED_WALLETS = ["renter", "host", "coupon", "debt"]
MARKET_WALLETS = ["platform", "funding", "stripe", "bank", "escrow", "losses", "gifts"]


class TsTzRange(Func):
    """PostgreSQL's half-open range [a, b) of two timestamps."""

    function = "TSTZRANGE"
    output_field = models.Field()  # only its place in the SQL matters


class Wallet(models.Model):
    """Account of the ledger.

    `balance_micros` caches the sum of its entries, `held_micros` that of its open holds.
    """

    class Kind(models.TextChoices):
        RENTER = "renter", _("renter")
        HOST = "host", _("host earnings")  # may go negative by a refund after a payout
        COUPON = "coupon", _("coupons")  # the rest in a renter's coupons
        DEBT = "debt", _("debt")  # what a user owes after a dispute, a refund or an early end of a term; never positive
        PLATFORM = "platform", _("platform fees")
        FUNDING = "funding", _("external funds")  # the counterpart of staff grants; goes negative
        STRIPE = "stripe", _("Stripe")  # the counterpart of card payments; goes negative
        BANK = "bank", _("payouts")  # the counterpart of payouts
        ESCROW = "escrow", _("prepaid terms")  # prepaid and not used yet
        LOSSES = "losses", _("losses")  # debts that nobody will pay
        GIFTS = "gifts", _("coupons granted")  # the counterpart of coupons; always the last wallet to be locked

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="wallets",
        null=True,
        blank=True,
        verbose_name=_("owner"),
    )
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    balance_micros = models.BigIntegerField(_("balance (micro-units)"), default=0)
    held_micros = models.BigIntegerField(_("held (micro-units)"), default=0)
    created_at = models.DateTimeField(_("created at"), default=clock.now)

    class Meta:
        verbose_name = _("wallet")
        verbose_name_plural = _("wallets")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=[*OWNED_WALLETS, *MARKET_WALLETS]), name="wallet_kind"),
            models.CheckConstraint(condition=Q(held_micros__gte=0), name="wallet_held_not_negative"),
            models.CheckConstraint(
                condition=~Q(kind__in=["renter", "coupon", "escrow"]) | Q(balance_micros__gte=F("held_micros")),
                name="wallet_never_overspent",
            ),
            models.CheckConstraint(condition=~Q(kind="debt") | Q(balance_micros__lte=0), name="debt_is_never_positive"),
            models.CheckConstraint(
                condition=Q(kind__in=OWNED_WALLETS, owner__isnull=False) | Q(kind__in=MARKET_WALLETS, owner__isnull=True),
                name="wallet_owner_by_kind",
            ),
            models.UniqueConstraint(fields=["owner", "kind"], condition=Q(owner__isnull=False), name="one_wallet_per_owner"),
            models.UniqueConstraint(fields=["kind"], condition=Q(owner__isnull=True), name="one_market_wallet_per_kind"),
        ]
        # The condition does not mention a balance, so that moving money rewrites no index.
        indexes: ClassVar = [models.Index(fields=["owner"], condition=Q(kind="debt"), name="wallet_of_debtor")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def spendable_micros(self) -> int:
        return self.balance_micros - self.held_micros


class AppendOnly(models.Model):
    """Row that can be written only once; database triggers enforce the same for code outside this class."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise LedgerIsAppendOnly
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise LedgerIsAppendOnly


class LedgerCurrency(AppendOnly):
    """Currency of this ledger's amounts: a single row, written once when the tables are created."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    code = models.CharField(max_length=3)
    noted_at = models.DateTimeField(default=clock.now)

    class Meta:
        verbose_name_plural = "ledger currencies"
        constraints: ClassVar = [models.CheckConstraint(condition=Q(id=1), name="one_currency_of_the_ledger")]

    def __str__(self) -> str:
        return self.code


class Posting(AppendOnly):
    """Balanced set of entries with one reason and a unique `idempotency_key`; append-only (trigger)."""

    class Kind(models.TextChoices):
        USAGE = "usage", _("usage")
        GRANT = "grant", _("credit granted")
        CREDIT = "credit", _("refund")  # credit for a part of a run whose host failed
        TOP_UP = "top_up", _("top-up")
        REFUND = "refund", _("refund")  # cash back to the card
        DISPUTE = "dispute", _("dispute")
        COUPON = "coupon", _("coupon")
        TERM = "term", _("reserved term")  # prepaid money into escrow, and out of it
        TRANSFER = "transfer", _("transfer")
        PAYOUT = "payout", _("payout")
        REPAYMENT = "repayment", _("repayment")  # payment of a debt from the owner's own wallet or earnings

    id = models.BigAutoField("ID", primary_key=True)
    idempotency_key = models.CharField(_("idempotency key"), max_length=200, unique=True)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    source_kind = models.CharField(_("kind of the source"), max_length=20)
    source_id = models.UUIDField(_("ID of the source"))
    memo = models.CharField(_("memo"), max_length=200)
    actor = models.CharField(_("done by"), max_length=80)
    period_from = models.DateTimeField(_("from"), null=True)
    period_to = models.DateTimeField(_("until"), null=True)
    rate_micros_per_hour = models.BigIntegerField(_("rate per hour (micro-units)"), null=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)

    class Meta:
        verbose_name = _("posting")
        verbose_name_plural = _("postings")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(kind="usage")  # those from before migration 0005 still say the period that is in their usage row
                | ~Q(kind__in=["usage", "credit"]) & Q(period_from__isnull=True)
                | Q(kind="credit", period_from__lt=F("period_to"), rate_micros_per_hour__isnull=False),
                name="credit_has_its_period",
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
        indexes: ClassVar = [
            models.Index(fields=["source_kind", "source_id"], name="posting_source"),
            BrinIndex(fields=["created_at"], name="posting_day"),
            models.Index(
                fields=["idempotency_key"],
                opclasses=["varchar_pattern_ops"],
                condition=Q(kind="credit"),
                name="posting_credit_key",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.idempotency_key}"


class Entry(AppendOnly):
    """One movement of one wallet; append-only (trigger).

    The entries of a posting add up to zero (statement trigger).
    """

    class Kind(models.TextChoices):
        CHARGE = "charge", _("charge")
        HOST_SHARE = "host_share", _("host's share")
        PLATFORM_FEE = "platform_fee", _("platform fee")
        CREDIT = "credit", _("credit")
        REFUND = "refund", _("refund")
        FUNDING = "funding", _("funding")
        TOP_UP = "top_up", _("top-up")
        CARD_REFUND = "card_refund", _("refund to the card")
        DISPUTE = "dispute", _("dispute")
        COUPON = "coupon", _("coupon")
        BONUS = "bonus", _("used bonus of a refunded top-up")  # cash for used coupon money whose top-up was refunded
        PREPAID = "prepaid", _("reserved term")
        EXIT_FEE = "exit_fee", _("early termination")
        TRANSFER = "transfer", _("transfer")
        PAYOUT = "payout", _("payout")
        LOSS = "loss", _("loss")
        REPAYMENT = "repayment", _("repayment")

    id = models.BigAutoField(primary_key=True)
    posting = models.ForeignKey(Posting, on_delete=models.PROTECT, related_name="entries", verbose_name=_("posting"))
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="entries", verbose_name=_("wallet"))
    kind = models.CharField(_("kind"), max_length=12, choices=Kind)
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))

    class Meta:
        verbose_name = _("ledger entry")
        verbose_name_plural = _("ledger entries")
        indexes: ClassVar = [models.Index(fields=["wallet", "-id"], name="entry_of_wallet")]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_micros}"


class Grant(models.Model):
    """Money from outside the market for a renter: who gives it, why, and who confirmed a large one.

    The database allows no posting of this kind without its grant, and no large grant counts without a second
    person (constraint). Each change of the row is recorded (trigger).
    """

    class State(models.TextChoices):
        PENDING = "pending", _("awaiting a second approval")
        POSTED = "posted", _("granted")
        DECLINED = "declined", _("declined")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="grants", verbose_name=_("owner")
    )
    amount_micros = models.BigIntegerField(_("amount (micro-units)"))
    reason = models.CharField(_("reason"), max_length=200)
    key = models.CharField(_("key"), max_length=200, unique=True, help_text="Of its posting.")
    requested_by = models.CharField(_("granted by"), max_length=80)
    confirmed_by = models.CharField(_("confirmed by"), max_length=80, blank=True, default="")
    state = models.CharField(_("state"), max_length=8, choices=State, default=State.POSTED)
    created_at = models.DateTimeField(_("created"), default=clock.now)
    settled_at = models.DateTimeField(_("settled at"), null=True, blank=True)

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount_micros__gt=0), name="grant_is_positive"),
            models.CheckConstraint(condition=Q(state__in=["pending", "posted", "declined"]), name="grant_state"),
            models.CheckConstraint(
                condition=~Q(reason__regex=r"^\s*$") & ~Q(requested_by__regex=r"^\s*$"), name="grant_names_who_and_why"
            ),
            models.CheckConstraint(
                condition=~Q(confirmed_by=F("requested_by"))
                & (~Q(state="posted") | Q(amount_micros__lte=GRANT_ALONE_MICROS) | ~Q(confirmed_by="")),
                name="large_grant_has_two_people",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["requested_by", "-created_at"], name="grant_of_person"),
            models.Index(fields=["created_at"], condition=Q(state="pending"), name="grant_to_confirm"),
        ]

    def __str__(self) -> str:
        return self.key
