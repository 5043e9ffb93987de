"""The ledger's audit: every invariant, each by one query."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.utils.module_loading import import_string

from billing.findings import Finding
from billing.ledger_checks import CHECKS
from billing.paper_checks import PAPER_CHECKS
from billing.payout_checks import PAYOUT_CHECKS
from billing.policy import CLOCK_TOLERANCE
from billing.record_checks import RECORD_CHECKS
from billing.seal_checks import SEAL_CHECKS
from billing.selectors.anchors import anchor_findings
from billing.selectors.currency import currency_findings
from billing.selectors.rows import planned_rows
from common import clock


def all_findings() -> list[Finding]:
    """What breaks an invariant of the ledger, of its anchors outside the database, or between it and what it is about."""
    beside = [finding for name in settings.LEDGER_CHECKS_BESIDE for finding in import_string(name)()]
    return [*ledger_findings(), *currency_findings(), *anchor_findings(), *beside]


def ledger_findings() -> list[Finding]:
    """Everything in the books that breaks an invariant of the ledger; empty when all is well."""
    return list(_findings(clock.now() + CLOCK_TOLERANCE))


def _findings(latest: datetime) -> Iterator[Finding]:
    for check in (*CHECKS, *PAPER_CHECKS, *PAYOUT_CHECKS, *RECORD_CHECKS, *SEAL_CHECKS):
        for subject, detail in planned_rows(check.query, latest=latest):
            yield Finding(check.code, check.says, subject, detail)
