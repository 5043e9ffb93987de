"""Serializers of a host's reliability, its public ledger, and its maintenance."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from rest_framework import serializers

from common.http.fields import NameText
from common.http.resource_schemas import page_of
from common.ids import public_id
from common.resources import OneOf, resource
from marketplace.models import Maintenance
from marketplace.reliability.scoring import FORMULA_VERSION, ReliabilityResult
from marketplace.reliability.selectors import Ledger, LedgerEntry, excuses
from marketplace.states import MaintenanceCategory, ReliabilityKind

_PPM = 1_000_000


@resource
class LedgerHost:
    """Host of the ledger."""

    id: str
    name: str
    region: str


class ReliabilityWindow(serializers.Serializer[Any]):
    """The half-open period that counts; `from` is 30 days before `until`, or when the host was added."""

    def get_fields(self) -> dict[str, Any]:
        return {"from": serializers.DateTimeField(), "until": serializers.DateTimeField()}


@resource
class ReliabilityInputs:
    """Totals of the events below."""

    observed_seconds: Annotated[float, "The window minus announced maintenance"]
    excluded_seconds: Annotated[float, "Maintenance within the window"]
    outage_seconds: Annotated[float, "Without reports, outside announced maintenance"]
    starts: int
    failed_starts: int
    host_faults: int


@resource
class ReliabilityEntry:
    """Event of the host; an outage in progress has no end, and other kinds have no duration."""

    id: str
    kind: Annotated[str, OneOf([kind.value for kind in ReliabilityKind if kind != ReliabilityKind.STARTED])]
    starts_at: datetime
    ends_at: datetime | None
    detail: Annotated[str | None, "A failure's code, or why it doesn't count"]
    excluded_seconds: Annotated[float, "The part of it within announced maintenance"]
    counts: Annotated[bool, "Whether any of it counts against the host"]


@resource
class MaintenanceWindow:
    """Maintenance announced by the host owner."""

    id: str
    category: Annotated[str, OneOf(MaintenanceCategory.values)]
    detail: str | None
    announced_at: datetime
    starts_at: datetime
    ends_at: datetime
    cancelled_at: datetime | None
    excuses: Annotated[bool, "Announced in time and not cancelled before its start"]


MaintenancePage = page_of(MaintenanceWindow, "MaintenancePage", "A page of a host's maintenance windows, latest first.")


@resource
class Reliability:
    """The score, and everything it is computed from."""

    host: LedgerHost
    score: Annotated[float | None, "0 to 1; null without enough data"]
    score_ppm: Annotated[int | None, "The same in millionths, exact"]
    formula_version: int
    window: Annotated[dict[str, datetime], ReliabilityWindow]
    enrolled_at: datetime
    inputs: ReliabilityInputs
    events: list[ReliabilityEntry]
    starts: Annotated[list[datetime], "Instances that started running"]
    maintenance: list[MaintenanceWindow]


class Announcement(serializers.Serializer[Any]):
    """Maintenance to announce, at least 24 hours ahead and at most 12 hours long."""

    category = serializers.ChoiceField(MaintenanceCategory.values)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    detail = NameText(max_length=300, required=False, allow_blank=True, default="")


def reliability_resource(ledger: Ledger) -> Reliability:
    host, found = ledger.host, ledger.reckoning
    score = found.score_ppm
    return Reliability(
        host=LedgerHost(id=public_id("host", host.pk), name=host.name, region=host.region),
        score=None if score is None else score / _PPM,
        score_ppm=score,
        formula_version=FORMULA_VERSION,
        window={"from": found.window[0], "until": ledger.until},
        enrolled_at=host.enrolled_at,
        inputs=_inputs(found),
        events=[_entry(entry) for entry in ledger.entries],
        starts=list(ledger.starts),
        maintenance=[maintenance_resource(window) for window in ledger.maintenance],
    )


def _inputs(found: ReliabilityResult) -> ReliabilityInputs:
    return ReliabilityInputs(
        observed_seconds=_seconds(found.observed),
        excluded_seconds=_seconds(found.excluded),
        outage_seconds=_seconds(found.outage),
        starts=found.starts,
        failed_starts=found.failed_starts,
        host_faults=found.host_faults,
    )


def _entry(entry: LedgerEntry) -> ReliabilityEntry:
    return ReliabilityEntry(
        id=str(entry.id),
        kind=entry.kind,
        starts_at=entry.starts_at,
        ends_at=entry.ends_at,
        detail=entry.detail or None,
        excluded_seconds=_seconds(entry.excluded),
        counts=entry.counts,
    )


def maintenance_resource(window: Maintenance) -> MaintenanceWindow:
    return MaintenanceWindow(
        id=public_id("mtn", window.pk),
        category=window.category,
        detail=window.detail or None,
        announced_at=window.announced_at,
        starts_at=window.starts_at,
        ends_at=window.ends_at,
        cancelled_at=window.cancelled_at,
        excuses=excuses(window),
    )


def _seconds(span: timedelta) -> float:
    return span.total_seconds()
