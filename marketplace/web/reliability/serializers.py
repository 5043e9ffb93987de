"""Serializers of a host's reliability, its public ledger, and its maintenance."""

from datetime import timedelta
from typing import Any

from rest_framework import serializers

from common.http.fields import NameText
from common.ids import public_id
from marketplace.models import Maintenance
from marketplace.reliability.scoring import FORMULA_VERSION, Reckoning
from marketplace.reliability.selectors import Ledger, LedgerEntry, excuses
from marketplace.states import MaintenanceCategory, ReliabilityKind

_PPM = 1_000_000


class LedgerHost(serializers.Serializer[Any]):
    """Host of the ledger."""

    id = serializers.CharField()
    name = serializers.CharField()
    region = serializers.CharField()


class ReliabilityWindow(serializers.Serializer[Any]):
    """The half-open period that counts; `from` is 30 days before `until`, or the enrolment."""

    def get_fields(self) -> dict[str, Any]:
        return {"from": serializers.DateTimeField(), "until": serializers.DateTimeField()}


class ReliabilityInputs(serializers.Serializer[Any]):
    """Sums of the events below."""

    observed_seconds = serializers.FloatField(help_text="The window minus announced maintenance")
    excluded_seconds = serializers.FloatField(help_text="Maintenance within the window")
    outage_seconds = serializers.FloatField(help_text="Without reports, outside announced maintenance")
    starts = serializers.IntegerField()
    failed_starts = serializers.IntegerField()
    host_faults = serializers.IntegerField()


class ReliabilityEntry(serializers.Serializer[Any]):
    """Event of the host; an outage in progress has no end, and other kinds are moments."""

    id = serializers.CharField()
    kind = serializers.ChoiceField([kind.value for kind in ReliabilityKind if kind != ReliabilityKind.STARTED])
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    detail = serializers.CharField(allow_null=True, help_text="A failure's code, or why it doesn't count")
    excluded_seconds = serializers.FloatField(help_text="The part of it within announced maintenance")
    counts = serializers.BooleanField(help_text="Whether any of it counts against the host")


class MaintenanceWindow(serializers.Serializer[Any]):
    """Maintenance that the host's owner announced."""

    id = serializers.CharField()
    category = serializers.ChoiceField(MaintenanceCategory.values)
    detail = serializers.CharField(allow_null=True)
    announced_at = serializers.DateTimeField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    cancelled_at = serializers.DateTimeField(allow_null=True)
    excuses = serializers.BooleanField(help_text="Announced in time and not cancelled before its start")


class MaintenancePage(serializers.Serializer[Any]):
    """A page of a host's maintenance, the last to begin first."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = MaintenanceWindow(many=True)


class Reliability(serializers.Serializer[Any]):
    """The score, and everything that it is computed from."""

    host = LedgerHost()
    score = serializers.FloatField(allow_null=True, help_text="0 to 1; null without enough data")
    score_ppm = serializers.IntegerField(allow_null=True, help_text="The same in millionths, exact")
    formula_version = serializers.IntegerField()
    window = ReliabilityWindow()
    enrolled_at = serializers.DateTimeField()
    inputs = ReliabilityInputs()
    events = ReliabilityEntry(many=True)
    starts = serializers.ListField(child=serializers.DateTimeField(), help_text="Instances that started running")
    maintenance = MaintenanceWindow(many=True)


class Announcement(serializers.Serializer[Any]):
    """Maintenance to announce, at least 24 hours ahead and at most 12 hours long."""

    category = serializers.ChoiceField(MaintenanceCategory.values)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    detail = NameText(max_length=300, required=False, allow_blank=True, default="")


def reliability_shape(ledger: Ledger) -> dict[str, Any]:
    host, found = ledger.host, ledger.reckoning
    score = found.score_ppm
    return {
        "host": {"id": public_id("host", host.pk), "name": host.name, "region": host.region},
        "score": None if score is None else score / _PPM,
        "score_ppm": score,
        "formula_version": FORMULA_VERSION,
        "window": {"from": found.window[0], "until": ledger.until},
        "enrolled_at": host.enrolled_at,
        "inputs": _inputs(found),
        "events": [_entry(entry) for entry in ledger.entries],
        "starts": list(ledger.starts),
        "maintenance": [maintenance_shape(window) for window in ledger.maintenance],
    }


def _inputs(found: Reckoning) -> dict[str, Any]:
    return {
        "observed_seconds": _seconds(found.observed),
        "excluded_seconds": _seconds(found.excluded),
        "outage_seconds": _seconds(found.outage),
        "starts": found.starts,
        "failed_starts": found.failed_starts,
        "host_faults": found.host_faults,
    }


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "id": str(entry.id),
        "kind": entry.kind,
        "starts_at": entry.starts_at,
        "ends_at": entry.ends_at,
        "detail": entry.detail or None,
        "excluded_seconds": _seconds(entry.excluded),
        "counts": entry.counts,
    }


def maintenance_shape(window: Maintenance) -> dict[str, Any]:
    return {
        "id": public_id("mtn", window.pk),
        "category": window.category,
        "detail": window.detail or None,
        "announced_at": window.announced_at,
        "starts_at": window.starts_at,
        "ends_at": window.ends_at,
        "cancelled_at": window.cancelled_at,
        "excuses": excuses(window),
    }


def _seconds(span: timedelta) -> float:
    return span.total_seconds()
