"""Report of a host's last self-test for its owner: failures first, in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.dateparse import parse_datetime

from marketplace.self_tests.requirements import remedy_of, title_of
from marketplace.states import Verdict

if TYPE_CHECKING:
    from marketplace.models import Host, SelfTest


@dataclass(frozen=True)
class ShownCheck:
    """One finding; `gpu` is its number on the host, None for a check of the whole host."""

    title: str
    gpu: int | None
    passed: bool | None
    needed: bool
    actual: str
    required: str
    remedy: str
    as_of: datetime | None


@dataclass(frozen=True)
class SelfTestReport:
    """Report; `pending` means that a self-test is requested now.

    `last` is the newest finished one, and `checks` are its findings.
    """

    pending: bool
    last: "SelfTest | None"
    checks: Sequence[ShownCheck]

    @property
    def to_mend(self) -> list[ShownCheck]:
        return [check for check in self.checks if check.needed and not check.passed]

    @property
    def expired(self) -> bool:
        return self.last is not None and self.last.verdict == Verdict.EXPIRED

    @property
    def passed(self) -> bool:
        return self.last is not None and self.last.verdict == Verdict.PASSED


def report_of(host: "Host") -> SelfTestReport:
    """Return the report of a host read by `hosts_of`.

    The newest self-test may be in progress, so the last two are loaded.
    """
    tests: list[SelfTest] = host.last_self_tests  # type: ignore[attr-defined]  # prefetched by hosts_of
    over = [test for test in tests if test.verdict != Verdict.PENDING]
    numbers = {gpu.uuid: gpu.index for gpu in host.gpus.all()}
    last = over[0] if over else None
    checks = [] if last is None else [_shown(check, numbers) for check in last.checks]
    return SelfTestReport(pending=len(over) < len(tests), last=last, checks=checks)


def _shown(check: dict[str, Any], numbers: dict[str, int]) -> ShownCheck:
    return ShownCheck(
        title=title_of(check["id"]),
        gpu=numbers.get(check["gpu"]),
        passed=check["passed"],
        needed=check["needed"],
        actual=check["actual"],
        required=check["required"],
        remedy=remedy_of(check),
        as_of=parse_datetime(check["as_of"]) if check["as_of"] else None,
    )
