"""Template context of reliability and maintenance: parts of the score, timeline of days, and events."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput
from marketplace.constants import MAINTENANCE_LONGEST, MAINTENANCE_MOST, MAINTENANCE_SPAN
from marketplace.models import Host, Maintenance
from marketplace.reliability import scoring as formula
from marketplace.reliability.scoring import Span, clipped, overlap
from marketplace.reliability.selectors import Ledger, LedgerEntry, excuses, maintenance_of, reliability_ledger
from marketplace.states import ReliabilityKind
from marketplace.web.reliability.forms import MaintenanceForm

_DAY: Final = timedelta(days=1)
_EVENTS_SHOWN: Final = 100

REFUSALS: Final[dict[str, str | Promise]] = {
    "too_soon": _("Announce maintenance at least 24 hours ahead, so that renters can save their work."),
    "too_far": _("Maintenance can be announced at most 90 days ahead."),
    "order": _("The end must be after the start."),
    "too_long": _("Maintenance can last at most 12 hours."),
    "overlap": _("This overlaps with another announced maintenance of this host."),
    "too_many": _("You can announce at most 4 maintenance windows per 30 days."),
}


@dataclass(frozen=True)
class Day:
    """One day of the timeline; `kind` is good, outage, failure, excused or none (not enrolled yet)."""

    start: datetime
    end: datetime
    kind: str
    outage: timedelta
    excused: timedelta
    failures: int

    @property
    def outage_seconds(self) -> float:
        return self.outage.total_seconds()


@dataclass(frozen=True)
class Planned:
    """One maintenance and its stage."""

    window: Maintenance
    stage: str
    excuses: bool


def reliability_context(host_id: UUID, now: datetime, reader_id: UUID | None) -> dict[str, Any]:
    ledger = reliability_ledger(host_id, now)
    return {
        "ledger": ledger,
        "host": ledger.host,
        "found": ledger.reckoning,
        "is_owner": ledger.host.owner_id == reader_id,
        "days": _days(ledger),
        "entries": ledger.entries[:_EVENTS_SHOWN],
        "more": max(0, len(ledger.entries) - _EVENTS_SHOWN),
        "planned": _planned(reversed(ledger.maintenance), now),
        "formula": _CONSTANTS,
    }


def maintenance_context(host: Host, form: MaintenanceForm, now: datetime) -> dict[str, Any]:
    return {
        "host": host,
        "form": form,
        "planned": _planned(maintenance_of(host.pk).reverse()[:50], now),
        "most": MAINTENANCE_MOST,
        "longest_hours": int(MAINTENANCE_LONGEST.total_seconds()) // 3600,
        "span_days": MAINTENANCE_SPAN.days,
    }


def add_refusal(form: MaintenanceForm, error: InvalidInput) -> None:
    """Add the service's refusal to the fields of the form, in the reader's language."""
    for wrong in error.errors:
        form.add_error("hours" if wrong.field == "ends_at" else wrong.field, str(REFUSALS.get(wrong.code, wrong.detail)))


_CONSTANTS: Final = {
    "version": formula.FORMULA_VERSION,
    "days": formula.WINDOW.days,
    "presumed_days": formula.PRESUMED.days,
    "presumed_share": f"{formula.PRESUMED_PPM // 10_000}%",
    "presumed_starts": formula.PRESUMED_STARTS,
    "fault_weight": formula.HOST_FAULT_WEIGHT,
    "notice_hours": int(formula.NOTICE.total_seconds()) // 3600,
    "least_hours": int(formula.MIN_OBSERVED.total_seconds()) // 3600,
}


def _planned(windows: Iterable[Maintenance], now: datetime) -> list[Planned]:
    return [Planned(window, _stage(window, now), excuses(window)) for window in windows]


def _stage(window: Maintenance, now: datetime) -> str:
    if window.cancelled_at is not None:
        return "cancelled"
    if window.ends_at <= now:
        return "over"
    return "coming" if now < window.starts_at else "on"


def _days(ledger: Ledger) -> list[Day]:
    """Return the days from 30 days ago to the window's end, oldest first."""
    first = ledger.until - formula.WINDOW
    excused = formula.excused_spans(ledger.notices)
    spans = [(first + number * _DAY, first + (number + 1) * _DAY) for number in range(formula.WINDOW.days)]
    return [_day(span, ledger, excused) for span in spans]


def _day(span: Span, ledger: Ledger, excused: list[Span]) -> Day:
    down = formula.merged(clipped((e.starts_at, e.ends_at or ledger.until), span) for e in _outages(ledger.entries))
    out = overlap(down, [span]) - overlap(down, excused)
    failures = sum(
        entry.counts and span[0] <= entry.starts_at < span[1]
        for entry in ledger.entries
        if entry.kind != ReliabilityKind.OUTAGE
    )
    off = overlap([span], excused)
    enrolled = span[1] > ledger.host.enrolled_at
    kinds = {"none": not enrolled, "failure": failures > 0, "outage": bool(out), "excused": bool(off), "good": True}
    return Day(*span, next(kind for kind, holds in kinds.items() if holds), out, off, failures)


def _outages(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    return [entry for entry in entries if entry.kind == ReliabilityKind.OUTAGE]
