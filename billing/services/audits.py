"""Runs the ledger's checks and keeps what they found."""

import time

from billing.models import LedgerAudit
from billing.selectors import Finding, ledger_findings
from billing.selectors.seals import latest_seals
from common import clock
from common.database import use_case

KEPT_FINDINGS = 200


def audit_ledger(*, asked_by: str) -> tuple[LedgerAudit, list[Finding]]:
    """Everything that breaks an invariant now; the run is stored, with the first findings and the seal it saw."""
    started_at, begun = clock.now(), time.monotonic()
    last = next(iter(latest_seals(1)), None)
    findings = ledger_findings()
    kept = [
        {"code": one.code, "subject": one.subject, "detail": one.detail, "says": one.says}
        for one in findings[:KEPT_FINDINGS]
    ]
    with use_case():
        row = LedgerAudit.objects.create(
            asked_by=asked_by[:80],
            started_at=started_at,
            took_ms=int((time.monotonic() - begun) * 1000),
            seal_number=None if last is None else last.number,
            head="" if last is None else last.head,
            count=len(findings),
            findings=kept,
        )
    return row, findings
