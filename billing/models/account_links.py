"""Evidence that two accounts belong to one person, or to people who share their money."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock


class AccountLink(models.Model):
    """Card, payout account or team that a user has had; it stays when the card is removed.

    Staff may dismiss one, which records who and why: the row stays, does not count, and keeps the same link from
    coming back. Anybody can enter anybody's payout account: `billing.people.selectors` says what that means.
    """

    class Kind(models.TextChoices):
        CARD = "card", _("card")  # Stripe's fingerprint of its number
        PAYOUT_ACCOUNT = "payout", _("payout account")
        TEAM = "team", _("team")

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False, verbose_name=_("owner")
    )
    kind = models.CharField(_("kind"), max_length=6, choices=Kind)
    value = models.CharField(_("value"), max_length=200)
    seen_at = models.DateTimeField(_("first seen at"), default=clock.now)
    proven_at = models.DateTimeField(
        _("proven at"),
        null=True,
        help_text="Since when a payout of the user has arrived there, or Stripe says that their account is ready.",
    )

    removed_at = models.DateTimeField(_("removed"), null=True, help_text="Since when it counts for nothing.")
    removed_by = models.CharField(_("removed by"), max_length=80, blank=True, default="")
    removed_reason = models.CharField(_("reason"), max_length=200, blank=True, default="")

    class Meta:
        db_table = "billing_tie"
        verbose_name = _("account link")
        verbose_name_plural = _("account links")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "kind", "value"], name="one_tie_of_a_kind"),
            models.CheckConstraint(condition=Q(kind__in=["card", "payout", "team"]), name="tie_kind"),
            models.CheckConstraint(condition=~Q(value=""), name="tie_names_something"),
            models.CheckConstraint(condition=Q(proven_at=None) | Q(kind="payout"), name="tie_proven_by_a_payout"),
            models.CheckConstraint(
                condition=Q(removed_at=None, removed_by="", removed_reason="")
                | Q(removed_at__isnull=False) & ~Q(removed_by__regex=r"^\s*$") & ~Q(removed_reason__regex=r"^\s*$"),
                name="removed_tie_names_who_and_why",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["kind", "value"], name="tie_shared")]

    def __str__(self) -> str:
        return f"{self.kind}:{self.owner_id}"
