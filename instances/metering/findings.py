"""Comparison of the ledger with what it charges for.

Whatever runs is metered, proofs match the hosts' reports, and no money is held for what does not exist. `billing`
knows none of this; `verify_ledger` and every audit include it through the setting LEDGER_CHECKS_BESIDE.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from uuid import UUID

from django.db.models import Model, QuerySet

from billing.constants import (
    CLOCK_TOLERANCE,
    DEPOSIT_SOURCE,
    DISK_SOURCE,
    FROZEN_SOURCE,
    HOLD_SOURCE,
    INSTANCE_SOURCE,
    PROOF_BRIDGE,
    RETENTION_SOURCE,
    SNAPSHOT_SOURCE,
    TERM_SOURCE,
    VOLUME_SOURCE,
    WATCH_SOURCE,
)
from billing.findings import Finding
from billing.metering.source_selectors import committed_among, open_meters, sources_in_use, wallets_among
from billing.pricing.estimates import RESERVED
from instances.models import Instance, Term, Watch
from instances.states import Desired, InstanceState, TermState
from storage.volumes.selectors import last_reports_of_snapshots, last_reports_of_volumes, snapshots_among, volumes_among


def _among(model: type[Model]) -> Callable[[Iterable[UUID]], set[UUID]]:
    return lambda ids: set(model._default_manager.filter(pk__in=ids).values_list("pk", flat=True))


# The rows that exist for each kind of source.
_SUBJECTS: Final[Mapping[str, Callable[[Iterable[UUID]], set[UUID]]]] = {
    **dict.fromkeys((INSTANCE_SOURCE, DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE), _among(Instance)),
    TERM_SOURCE: _among(Term),
    DEPOSIT_SOURCE: committed_among,
    FROZEN_SOURCE: wallets_among,
    WATCH_SOURCE: _among(Watch),
    VOLUME_SOURCE: volumes_among,
    SNAPSHOT_SOURCE: snapshots_among,
}
_METERED: Final = "what runs has an open meter that no stop has capped"
_REPORTED: Final = "no open meter is proven further than its host's last report"
_HEARD: Final = "what lies on a host is not charged for the time of its silence"
_EXISTS: Final = "money is held, and meters run, for what exists"


def metering_findings() -> list[Finding]:
    """Return the differences that two reads both find.

    Something may begin or end between the queries of one read.
    """
    first = {(finding.code, finding.subject) for finding in _find()}
    return [finding for finding in _find() if (finding.code, finding.subject) in first] if first else []


def unmetered_instances() -> list[UUID]:
    """Return running instances without a meter, or with one that is capped without a stop request."""
    metered = {source for source, meter in open_meters(source_kind=INSTANCE_SOURCE).items() if meter.capped_at is None}
    running = _running().exclude(billing_mode=RESERVED).values_list("pk", flat=True)
    return sorted(set(running) - metered)


def _find() -> Iterable[Finding]:
    for instance_id in unmetered_instances():
        yield Finding("I30", _METERED, f"instance {instance_id}", "it runs and is not charged")
    for term_id in _unmetered_terms():
        yield Finding("I30", _METERED, f"term {term_id}", "its instance runs, and the term is not charged")
    yield from _proven_too_far()
    yield from _charged_in_silence()
    yield from _orphans()


def _running() -> QuerySet[Instance]:
    return Instance.objects.filter(state=InstanceState.RUNNING, desired=Desired.RUNNING).order_by()


def _unmetered_terms() -> list[UUID]:
    reserved = _running().filter(billing_mode=RESERVED).values("pk")
    terms = Term.objects.filter(state=TermState.ACTIVE, instance_id__in=reserved).order_by().values_list("pk", flat=True)
    return sorted(set(terms) - set(open_meters(source_kind=TERM_SOURCE)))


def _proven_too_far() -> Iterable[Finding]:
    seen = Instance.objects.order_by().values_list("pk", "host__last_seen_at")
    reported = {INSTANCE_SOURCE: (dict(seen.exclude(state=InstanceState.GONE)), CLOCK_TOLERANCE)}
    terms = Term.objects.filter(state=TermState.ACTIVE).order_by().values_list("pk", "instance__host__last_seen_at")
    reported[TERM_SOURCE] = (dict(terms), PROOF_BRIDGE)  # the sweep that ends due terms proves them to their end
    for kind, (last_seen, tolerance) in reported.items():
        for source_id, meter in open_meters(source_kind=kind).items():
            at = last_seen.get(source_id)
            if at is not None and meter.proves_any_time and meter.proven_until > at + tolerance:
                detail = f"proven until {meter.proven_until}, its host was last heard of at {at}"
                yield Finding("I31", _REPORTED, f"{kind} {source_id}", detail)


def _charged_in_silence() -> Iterable[Finding]:
    """Find charges for the time of a host's silence.

    Meters of stored data run with the host's reports; a full hour may end within the bridge after the last report.
    """
    instances = Instance.objects.exclude(state=InstanceState.GONE).order_by()
    on_hosts = dict(instances.values_list("pk", "host__last_seen_at"))
    reported = {
        **dict.fromkeys((DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE), on_hosts),
        VOLUME_SOURCE: last_reports_of_volumes(),
        SNAPSHOT_SOURCE: last_reports_of_snapshots(),
    }
    for kind, last_seen in reported.items():
        for source_id, meter in open_meters(source_kind=kind).items():
            at = last_seen.get(source_id)
            if at is not None and meter.settled_until > max(at + PROOF_BRIDGE + CLOCK_TOLERANCE, meter.opened_at):
                detail = f"charged until {meter.settled_until}, its host was last heard of at {at}"
                yield Finding("I33", _HEARD, f"{kind} {source_id}", detail)


def _orphans() -> Iterable[Finding]:
    in_use: dict[str, set[UUID]] = {}
    for kind, source_id in sources_in_use():
        in_use.setdefault(kind, set()).add(source_id)
    for kind, ids in sorted(in_use.items()):
        known = _SUBJECTS[kind](ids) if kind in _SUBJECTS else set()
        for source_id in sorted(ids - known):
            yield Finding("I32", _EXISTS, f"{kind} {source_id}", "there is no such thing")
