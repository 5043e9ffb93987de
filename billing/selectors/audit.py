"""The ledger's audit: every invariant, each by one query."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from billing.ledger_checks import CHECKS
from billing.paper_checks import PAPER_CHECKS
from billing.payout_checks import PAYOUT_CHECKS
from billing.policy import CLOCK_TOLERANCE
from billing.seal_checks import SEAL_CHECKS
from billing.selectors.rows import planned_rows
from common import clock


@dataclass(frozen=True)
class Finding:
    """Something that breaks an invariant of the ledger."""

    code: str
    says: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.code} {self.subject}: {self.detail} (must hold: {self.says})"


def ledger_findings() -> list[Finding]:
    """Everything that breaks an invariant of the ledger; empty when all is well."""
    return list(_findings(clock.now() + CLOCK_TOLERANCE))


def _findings(latest: datetime) -> Iterator[Finding]:
    for check in (*CHECKS, *PAPER_CHECKS, *PAYOUT_CHECKS, *SEAL_CHECKS):
        for subject, detail in planned_rows(check.query, latest=latest):
            yield Finding(check.code, check.says, subject, detail)
