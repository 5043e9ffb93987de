"""Findings of `berth-agent doctor`, each with a verdict and a remedy."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One line of the result; `remedy` is a command or a step for a person, empty if nothing is wrong."""

    id: str
    verdict: Verdict
    found: str
    remedy: str = ""


def ok(name: str, found: str) -> Finding:
    return Finding(name, "ok", found)


def finding(name: str, verdict: Verdict, found: str, remedy: str) -> Finding:
    """Return a finding, with its remedy unless the verdict is "ok"."""
    return Finding(name, verdict, found, "" if verdict == "ok" else remedy)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 1 if there is a problem; warnings alone do not prevent a machine from being rented out."""
    return int(any(item.verdict == "problem" for item in findings))


def as_text(findings: Iterable[Finding]) -> str:
    lines = []
    for item in findings:
        lines.append(f"{item.verdict:8}{item.id}: {item.found}")
        if item.remedy:
            lines.append(f"{'':8}  -> {item.remedy}")
    return "\n".join(lines)


def as_json(findings: Iterable[Finding]) -> str:
    return json.dumps([asdict(item) for item in findings], indent=2, ensure_ascii=False)
