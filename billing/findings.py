"""Findings of the ledger's checks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Violation of an invariant of the ledger."""

    code: str
    rule: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.code} {self.subject}: {self.detail} (must hold: {self.rule})"
