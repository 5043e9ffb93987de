"""Seals over the ledger, and the results of its audits."""

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from billing.models.ledger import AppendOnly
from common import clock
from common.ids import new_uuid


class Seal(AppendOnly):
    """A link of the hash chain: all postings with ids in (after, upto], their entries and usage rows. Append-only (trigger).

    `body` is the SHA-256 of the digests of these rows, `head` of the link itself with the head before it; docs/proof.md
    has the canonical form. Whoever wrote a head down can tell later whether anything before it has changed.
    """

    number = models.PositiveIntegerField(primary_key=True)
    after = models.BigIntegerField(help_text="The last posting under the seal before.")
    upto = models.BigIntegerField(unique=True, help_text="The last posting under this one.")
    postings = models.PositiveBigIntegerField()
    entries = models.PositiveBigIntegerField()
    usage_rows = models.PositiveBigIntegerField()
    body = models.CharField(max_length=64)
    previous = models.CharField(max_length=64, unique=True, help_text="The head before; zeros for the first.")
    head = models.CharField(max_length=64, unique=True)
    sealed_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(upto__gt=models.F("after")), name="seal_covers_something"),
        ]

    def __str__(self) -> str:
        return f"seal {self.number}"


class LedgerAudit(models.Model):
    """One run of the ledger's checks: every night, and whenever staff ask."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    asked_by = models.CharField(_("asked by"), max_length=80)
    started_at = models.DateTimeField(_("started"), default=clock.now)
    took_ms = models.PositiveIntegerField(_("milliseconds"))
    seal_number = models.PositiveIntegerField(_("last seal"), null=True, help_text=_("None: nothing was sealed yet."))
    head = models.CharField(max_length=64, blank=True, default="")
    count = models.PositiveIntegerField(_("findings"))
    findings = models.JSONField(default=list, help_text=_("The first of them: code, subject, detail, what must hold."))

    class Meta:
        verbose_name = _("ledger check")
        verbose_name_plural = _("ledger checks")
        indexes: ClassVar = [models.Index(fields=["-started_at"], name="audit_latest")]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M}: {self.count}"
