"""Alerts: raised from usage and reports, sent once, and closed by themselves or by the renter."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from accounts.mail.outbox import withdraw_mails
from accounts.models import User
from accounts.webhooks.outbox import emit
from common import clock
from common.db.transactions import use_case
from common.ids import public_id
from common.jobs import enqueue
from common.messages.message import Message, of_row, read, stored
from instances.constants import ALERT_QUIET_AFTER, ALERT_SILENT_AFTER
from instances.core.alert_messages import english_title_of
from instances.core.event_messages import (
    AlertDismissed,
    AlertEnded,
    AlertOver,
    AtMost,
    GpuError,
    MemoryLimit,
    Used,
    alert_message,
)
from instances.core.gpu_xid_errors import xid_of
from instances.core.selectors import any_instance, instance_of
from instances.core.transitions import HOST, RENTER, SYSTEM, record_event, touch_renter
from instances.models import Alert, AlertMute, Instance
from instances.monitoring.alert_selectors import ALIVE, Problem, alert_of, findings_of_use, holders_of, open_alerts
from instances.states import FaultOf, InstanceState
from marketplace.hosts.incidents import open_incident

_MEASURED: Final = (Alert.Kind.GPU_IDLE, Alert.Kind.DISK_FULL, Alert.Kind.INODES_FULL, Alert.Kind.MEMORY_HIGH)
_HAPPENED: Final = (Alert.Kind.OUT_OF_MEMORY, Alert.Kind.GPU_FAULT)
_REPORTED: Final = (
    Alert.Kind.PATH_BROKEN,
    Alert.Kind.PAUSED,
    Alert.Kind.THROTTLED,
    Alert.Kind.DATA_LOST,
)  # raised and closed by reports of the host
_BY_HOST: Final = (Alert.Kind.GPU_FAULT, *_REPORTED)
_OVER, _RENTER, _ENDED = "over", "renter", "ended"


@dataclass(frozen=True)
class GpuEventRow:
    """An Xid error of a GPU in the host's driver log, with how often it came since the last report."""

    uuid: str
    xid: int
    count: int = 1


def update_alerts(*, now: datetime) -> int:
    """Raise alerts from the newest usage, update and close open ones; return how many were raised."""
    findings = findings_of_use(now)
    still = {(one.instance_id, one.kind, one.key) for one in findings}
    for alert in open_alerts(_MEASURED):
        if alert.instance.state not in ALIVE:
            _end(alert, _ENDED, now)
        elif (alert.instance_id, alert.kind, alert.key) not in still and _host_has_reported(alert, now):
            _end(alert, _OVER, now)
    for alert in open_alerts(_HAPPENED):
        gone = alert.instance.state == InstanceState.GONE
        if gone or alert.seen_at <= now - ALERT_QUIET_AFTER:
            _end(alert, _ENDED if gone else _OVER, now)
    for alert in open_alerts(_REPORTED):
        lasts = alert.kind == Alert.Kind.DATA_LOST and alert.instance.state != InstanceState.GONE
        if not lasts and alert.instance.state not in ALIVE:
            _end(alert, _ENDED, now)
    return sum(_raise_in_transaction(one, now) for one in findings if one.raises)


def raise_out_of_memory(instance: Instance, *, now: datetime) -> None:
    """Raise an alert because the instance's main program was killed for lack of memory.

    Call it inside the use case that marks the instance as failed.
    """
    _raise(instance, Problem(instance.pk, Alert.Kind.OUT_OF_MEMORY, {"limit_mb": instance.ram_mb, "whole": True}), now)


def raise_by_report(instance: Instance, kind: str, facts: Mapping[str, Any], *, now: datetime, key: str = "") -> None:
    """Raise an alert for a problem that the host reports of itself; inside the use case that records it."""
    _raise(instance, Problem(instance.pk, kind, dict(facts), key=key), now, fault_of=FaultOf.HOST)


def close_by_report(instance: Instance, kind: str, *, now: datetime, key: str = "") -> None:
    """Close an alert whose problem the host reports as solved."""
    for alert in open_alerts((kind,)):
        if (alert.instance_id, alert.key) == (instance.pk, key):
            _close(alert, _OVER, now, actor=HOST)


def record_gpu_events(*, host_id: UUID, rows: Sequence[GpuEventRow], at: datetime) -> int:
    """Raise alerts for Xid errors with the renters of the GPUs; return how many.

    Errors that are the host's fault also become incidents for staff, whether the GPU is rented or not.
    """
    raised = 0
    for row in rows:
        xid = xid_of(row.xid)
        facts = {"xid": row.xid, "gpu": row.uuid, "count": row.count}
        for instance in holders_of(host_id, row.uuid):
            found = Problem(instance.pk, Alert.Kind.GPU_FAULT, facts, key=f"{row.xid}:{row.uuid}"[:80])
            with use_case():
                raised += _raise(instance, found, at, fault_of=xid.fault_of)
        if xid.fault_of == FaultOf.HOST:
            detail = GpuError(number=row.xid, gpu=row.uuid)
            open_incident(kind="gpu_fault", subject=public_id("host", host_id), detail=detail)
    return raised


def resolve_alert(*, renter: User, alert_id: UUID, mute: bool = False) -> Alert:
    """Close an alert on its renter's request.

    With `mute`, alerts of this kind are no longer raised for the instance.
    """
    with use_case():
        alert = alert_of(renter, alert_id)
        if mute:
            AlertMute.objects.get_or_create(instance=alert.instance, kind=alert.kind)
        _close(alert, _RENTER, clock.now(), actor=RENTER)
    return alert_of(renter, alert_id)


def set_muted(*, renter: User, instance_id: UUID, kinds: Iterable[str]) -> list[str]:
    """Set the kinds of alerts that are muted for an instance; open ones of these kinds are closed."""
    wanted = sorted(set(kinds))
    with use_case():
        instance = instance_of(renter, instance_id)
        AlertMute.objects.filter(instance=instance).exclude(kind__in=wanted).delete()
        AlertMute.objects.bulk_create([AlertMute(instance=instance, kind=kind) for kind in wanted], ignore_conflicts=True)
        for alert in Alert.objects.filter(instance=instance, resolved_at=None, kind__in=wanted).select_related("instance"):
            _close(alert, _RENTER, clock.now(), actor=RENTER)
    return wanted


def alert_payload(alert: Alert) -> dict[str, Any]:
    """Return the payload of its webhook events."""
    return {
        "alert": public_id("alrt", alert.pk),
        "instance": public_id("inst", alert.instance_id),
        "name": alert.instance.name,
        "kind": alert.kind,
        "fault_of": alert.fault_of or None,
        "title": english_title_of(alert),
        "message": stored(alert_message(alert)),
        "facts": alert.facts,
        "raised_at": f"{alert.raised_at:%Y-%m-%dT%H:%M:%SZ}",
        "resolved_at": None if alert.resolved_at is None else f"{alert.resolved_at:%Y-%m-%dT%H:%M:%SZ}",
        "resolution": alert.resolution or None,
    }


def _raise_in_transaction(finding: Problem, now: datetime) -> bool:
    with use_case():
        return _raise(any_instance(finding.instance_id), finding, now)


def _raise(instance: Instance, finding: Problem, now: datetime, *, fault_of: str = "") -> bool:
    """Raise a new alert and return True, or update the open one.

    Returns False for an open or muted one.
    """
    last = Alert.objects.filter(instance=instance, kind=finding.kind, key=finding.key).order_by("-raised_at").first()
    if last is not None and last.resolved_at is None:
        _update_open(last, finding.facts, now)
        return False
    if last is not None and _was_reported(instance, last, finding, now):
        return False
    if AlertMute.objects.filter(instance=instance, kind=finding.kind).exists():
        return False
    alert = Alert(
        instance=instance,
        kind=finding.kind,
        key=finding.key,
        fault_of=fault_of,
        facts=finding.facts,
        raised_at=now,
        seen_at=now,
    )
    try:
        with transaction.atomic():
            alert.save(force_insert=True)
    except IntegrityError:
        return False  # another worker was faster
    actor = HOST if finding.kind in _BY_HOST else SYSTEM
    record_event(instance, kind=f"alert_{finding.kind}", actor=actor, detail=_detail_of(finding.facts))
    emit(user_id=instance.renter_id, kind="alert.raised", payload=alert_payload(alert))
    enqueue("instances.queue_alert_mails")
    touch_renter(instance)
    return True


def _was_reported(instance: Instance, last: Alert, finding: Problem, now: datetime) -> bool:
    """Return whether the finding was reported already.

    These are kills counted before, and alerts that the renter has closed in this run within a day.
    """
    if finding.kind == Alert.Kind.OUT_OF_MEMORY and finding.facts.get("run"):
        reported = last.facts.get("kills", 0) if last.facts.get("run") == finding.facts["run"] else 0
        return bool(reported >= finding.facts["kills"])
    set_aside = last.resolution == _RENTER and last.resolved_at is not None and last.resolved_at > now - ALERT_QUIET_AFTER
    this_run = instance.started_at is None or last.raised_at >= instance.started_at
    return set_aside and this_run and finding.kind in _MEASURED


def _update_open(alert: Alert, facts: Mapping[str, Any], now: datetime) -> None:
    """Update an open alert.

    Repeated GPU errors are counted here; kills are counted by the host, so the same number is nothing new.
    """
    news = dict(facts)
    if alert.kind == Alert.Kind.GPU_FAULT:
        news["count"] = alert.facts.get("count", 1) + facts.get("count", 1)
    if alert.kind == Alert.Kind.OUT_OF_MEMORY and alert.facts.get("kills") == facts.get("kills"):
        return
    Alert.objects.filter(pk=alert.pk, resolved_at=None).update(facts=news, seen_at=now)


def _host_has_reported(alert: Alert, now: datetime) -> bool:
    """Return whether the host has reported lately; silence closes no alert."""
    seen_at = alert.instance.host.last_seen_at
    return seen_at is not None and now - seen_at < ALERT_SILENT_AFTER


def _end(alert: Alert, resolution: str, now: datetime) -> None:
    with use_case():
        _close(alert, resolution, now, actor=SYSTEM)


def _close(alert: Alert, resolution: str, now: datetime, *, actor: str) -> None:
    open_one = Alert.objects.filter(pk=alert.pk, resolved_at=None)
    if not open_one.update(resolved_at=now, resolution=resolution):
        return
    withdraw_mails([alert.mail_key])
    alert.resolved_at, alert.resolution = now, resolution
    record_event(
        alert.instance, kind="alert_over", actor=actor, detail=_RESOLUTIONS[resolution](alert=Alert.Kind(alert.kind))
    )
    emit(user_id=alert.instance.renter_id, kind="alert.resolved", payload=alert_payload(alert))
    touch_renter(alert.instance)


_RESOLUTIONS: Final[Mapping[str, type[AlertOver | AlertDismissed | AlertEnded]]] = {
    _OVER: AlertOver,
    _RENTER: AlertDismissed,
    _ENDED: AlertEnded,
}


def _detail_of(facts: Mapping[str, Any]) -> Message | None:
    if "why" in facts:
        return of_row(read(facts.get("why_message")), facts["why"])
    if "xid" in facts:
        return GpuError(number=facts["xid"], gpu=facts["gpu"])
    if "percent" in facts:
        return Used(percent=round(facts["percent"]))
    if "most_pct" in facts:
        return AtMost(percent=round(facts["most_pct"]), minutes=round(facts["minutes"]))
    return MemoryLimit(size=round(facts["limit_mb"])) if "limit_mb" in facts else None
