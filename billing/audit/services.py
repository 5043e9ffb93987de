"""Runs the ledger's checks and stores their findings."""

import time
from datetime import datetime

from django.db.models import Count, Sum

from billing.audit.selectors import all_findings
from billing.constants import AUDIT_WITHIN, DAILY
from billing.findings import Finding
from billing.ledger.publish_anchors import mail_audit
from billing.ledger.seals import latest_seals
from billing.models import Grant, LedgerAudit
from common import clock
from common.db.transactions import use_case

KEPT_FINDINGS = 200
NIGHTLY = "nightly"


def was_audited_today(*, now: datetime) -> bool:
    """Return whether the nightly audit ran within the last day."""
    return LedgerAudit.objects.filter(asked_by=NIGHTLY, started_at__gt=now - DAILY).exists()


def audit_ledger(*, asked_by: str, mailed: bool = False) -> tuple[LedgerAudit, list[Finding]]:
    """Run all ledger checks and return the stored audit with every finding.

    The stored run keeps the first findings and the latest seal at the start. With `mailed`, the checks get the
    long time limit of the nightly audit, and the operator gets the result by mail.
    """
    started_at, begun = clock.now(), time.monotonic()
    last = next(iter(latest_seals(1)), None)
    findings = all_findings(AUDIT_WITHIN if mailed else None)
    kept = [
        {"code": one.code, "subject": one.subject, "detail": one.detail, "says": one.rule}
        for one in findings[:KEPT_FINDINGS]
    ]
    before = LedgerAudit.objects.order_by("-started_at").values_list("started_at", flat=True).first()
    since = Grant.objects.filter(state=Grant.State.POSTED, settled_at__lte=started_at)
    since = since.filter(settled_at__gt=before) if before else since
    granted = since.aggregate(number=Count("pk"), micros=Sum("amount_micros"))
    with use_case():
        row = LedgerAudit.objects.create(
            asked_by=asked_by[:80],
            started_at=started_at,
            took_ms=int((time.monotonic() - begun) * 1000),
            seal_number=None if last is None else last.number,
            head="" if last is None else last.head,
            grants=granted["number"],
            granted_micros=granted["micros"] or 0,
            count=len(findings),
            findings=kept,
        )
        if mailed:
            mail_audit(row)
    return row, findings
