"""Budgets, notices about money, and the standing of wallets: good, low or exhausted."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from billing.models.ledger import Wallet
from billing.states import StandingState
from common import clock
from common.ids import new_uuid


class Budget(models.Model):
    """Limit of spending in each calendar month (UTC), or in total.

    A soft budget notifies people; a hard one stops what it covers. `subject_id` is an instance, a member or a
    team, opaque here. Whom it covers is read from the teams each time, so a budget over others ends when its
    owner leaves the team.
    """

    class Scope(models.TextChoices):
        INSTANCE = "instance", _("instance")
        MEMBER = "member", _("member")
        TEAM = "team", _("team")

    class Period(models.TextChoices):
        MONTH = "month", _("monthly")
        TOTAL = "total", _("in total")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="budgets", help_text="Who set it and is told."
    )
    scope = models.CharField(max_length=10, choices=Scope)
    subject_id = models.UUIDField()
    name = models.CharField(max_length=120, help_text="Of the instance, person or team when it was set.")
    period = models.CharField(max_length=5, choices=Period, default=Period.MONTH)
    limit_micros = models.BigIntegerField()
    hard = models.BooleanField(_("hard limit, stops instances"), default=False)
    created_at = models.DateTimeField(default=clock.now)
    told_period = models.CharField(max_length=7, blank=True, help_text="The month, as 2026-11, of the last notice.")
    told_percent = models.PositiveIntegerField(default=0, help_text="The highest mark told of in that month: 50, 80, 100.")
    source_ids = ArrayField(
        models.UUIDField(),
        default=list,
        blank=True,
        help_text="Of an instance: its reserved terms, charged by their own ids.",
    )

    class Meta:
        ordering = ("created_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(limit_micros__gt=0), name="budget_is_positive"),
            models.UniqueConstraint(fields=["owner", "scope", "subject_id", "period"], name="one_budget_per_subject"),
        ]
        indexes: ClassVar = [models.Index(fields=["scope", "subject_id"], name="budget_of_subject")]

    def __str__(self) -> str:
        return f"budget of {self.scope} {self.subject_id}"


class Notice(models.Model):
    """Message about money to one person: mailed once, and shown on their pages while it matters.

    `mailed_at` is when its mail entered the outbox. The text is made from `facts` in the reader's language.
    """

    class Kind(models.TextChoices):
        LOW = "low", _("running low")
        EXHAUSTED = "exhausted", _("exhausted")
        RELEASE = "release", _("data about to be deleted")
        BUDGET = "budget", _("budget")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    key = models.CharField(max_length=200, unique=True)
    subject_id = models.UUIDField(null=True, blank=True, help_text="What it is about: a budget, a wallet, an instance.")
    ends_at = models.DateTimeField(null=True, blank=True, help_text="The date that it announces.")
    facts = models.JSONField(default=dict)
    at = models.DateTimeField(default=clock.now)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=["low", "exhausted", "release", "budget"]), name="notice_kind")
        ]
        indexes: ClassVar = [
            models.Index(fields=["at"], condition=Q(mailed_at__isnull=True), name="notice_to_mail"),
            models.Index(fields=["kind", "subject_id"], name="notice_of_subject"),
            models.Index(fields=["person", "-at"], name="notice_of_person"),
        ]

    def __str__(self) -> str:
        return self.key


class Standing(models.Model):
    """Standing of a renter's wallet, since when, and when the next step is due unless money arrives.

    A wallet without a row is in good standing.
    """

    wallet = models.OneToOneField(Wallet, on_delete=models.CASCADE, primary_key=True, related_name="standing")
    state = models.CharField(max_length=10, choices=StandingState, default=StandingState.GOOD)
    generation = models.PositiveBigIntegerField(default=0)
    since = models.DateTimeField(default=clock.now)
    next_state_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=Q(state__in=StandingState.values), name="standing_state")]

    def __str__(self) -> str:
        return f"{self.wallet_id} {self.state}"
