"""Evidence for the books: records of changes, seals over both, and results of audits."""

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from billing.models.ledger import AppendOnly
from common import clock
from common.ids import new_uuid


class Record(AppendOnly):
    """State of a money row from one moment on: meters, grants, payments, refunds, disputes, payouts.

    Triggers write it with the rights of the tables' owner, and nobody else may (docs/proof.md). Each row has its
    whole history, and a row that was changed or deleted past the triggers no longer matches its last record.
    """

    id = models.BigAutoField(primary_key=True)
    subject = models.CharField(max_length=40, help_text="The table of the row.")
    subject_id = models.UUIDField()
    content = models.JSONField(help_text="Its columns, as they were then.")
    at = models.DateTimeField(help_text="By the database's clock.")

    class Meta:
        indexes: ClassVar = [models.Index(fields=["subject", "subject_id", "-id"], name="record_of_subject")]

    def __str__(self) -> str:
        return f"{self.subject}:{self.subject_id} #{self.pk}"


class Seal(AppendOnly):
    """Link of the hash chain over all postings with ids in (after, upto], their entries and usage rows.

    Append-only (trigger). `body` is the SHA-256 of the digests of these rows, `head` that of the link together
    with the previous head; docs/proof.md has the canonical form. Whoever has recorded a head can tell later
    whether anything before it has changed. Seals written since records exist also cover those with ids in
    (records_after, records_upto]; older ones have NULL there.
    """

    number = models.PositiveIntegerField(_("number"), primary_key=True)
    after = models.BigIntegerField(_("previous row"), help_text="The last posting under the seal before.")
    upto = models.BigIntegerField(_("up to row"), unique=True, help_text="The last posting under this one.")
    postings = models.PositiveBigIntegerField(_("postings"))
    entries = models.PositiveBigIntegerField(_("entries"))
    usage_rows = models.PositiveBigIntegerField(_("usage records"))
    body = models.CharField(_("sealed content"), max_length=64)
    previous = models.CharField(
        _("previous hash"), max_length=64, unique=True, help_text="The head before; zeros for the first."
    )
    head = models.CharField(_("chained hash"), max_length=64, unique=True)
    sealed_at = models.DateTimeField(_("sealed at"), default=clock.now)
    records_after = models.BigIntegerField(_("records from"), null=True, help_text="The last record under the seal before.")
    records_upto = models.BigIntegerField(_("records up to"), null=True, help_text="The last record under this one.")
    records = models.PositiveBigIntegerField(_("records"), null=True)
    records_body = models.CharField(_("hash of the records"), max_length=64, blank=True, default="")

    class Meta:
        verbose_name = _("seal")
        verbose_name_plural = _("seals")
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(upto__gt=models.F("after")), name="seal_covers_something"),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"


class LedgerAudit(AppendOnly):
    """One run of the ledger's checks: every night, and on request of staff. Append-only (trigger).

    Each run stores the last seal that it saw, and later runs compare the chain with it.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    asked_by = models.CharField(_("requested by"), max_length=80)
    started_at = models.DateTimeField(_("started"), default=clock.now)
    took_ms = models.PositiveIntegerField(_("milliseconds"))
    seal_number = models.PositiveIntegerField(_("last seal"), null=True, help_text=_("Empty until the first seal."))
    head = models.CharField(_("chained hash"), max_length=64, blank=True, default="")
    grants = models.PositiveIntegerField(_("grants"), default=0, help_text=_("Credits granted since the previous check."))
    granted_micros = models.BigIntegerField(_("granted (micro-units)"), default=0)
    count = models.PositiveIntegerField(_("findings"))
    findings = models.JSONField(
        _("findings"), default=list, help_text=_("The first findings: code, subject, detail, expected condition.")
    )

    class Meta:
        verbose_name = _("ledger check")
        verbose_name_plural = _("ledger checks")
        indexes: ClassVar = [models.Index(fields=["-started_at"], name="audit_latest")]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M}: {self.count}"
