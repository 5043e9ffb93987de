"""Maintenance announced by a host owner.

It is limited and announced to renters; while it lasts there are no new rents, and outages do not count.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import FieldError, IllegalTransition, InvalidInput, NotFound
from marketplace.constants import MAINTENANCE_AHEAD, MAINTENANCE_LONGEST, MAINTENANCE_MOST, MAINTENANCE_SPAN
from marketplace.host_messages import MaintenancePeriod
from marketplace.hosts.hosts import lock_host, record_event
from marketplace.hosts.selectors import host_of
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host, Maintenance
from marketplace.reliability.scoring import NOTICE
from marketplace.reliability.selectors import maintenance_of, maintenance_to_end, maintenance_to_start
from marketplace.states import MaintenanceCategory

SWEEP = "sweep"


def announce_maintenance(
    *, actor_id: UUID, host_id: UUID, category: str, starts_at: datetime, ends_at: datetime, detail: str = ""
) -> Maintenance:
    """Announce maintenance for an own host.

    Raises:
        InvalidInput: it is too soon, too long, too far ahead or one too many.
    """
    host_of(actor_id, host_id)
    now = clock.now()
    _check_times(now, starts_at, ends_at)
    with use_case():
        host = lock_host(host_id)  # two announcements at once are counted one after the other
        _check_others(list(maintenance_of(host_id)), starts_at, ends_at)
        made = Maintenance.objects.create(
            host=host,
            category=MaintenanceCategory(category),
            detail=detail,
            announced_at=now,
            starts_at=starts_at,
            ends_at=ends_at,
        )
        record_event(host_id=host_id, kind="maintenance_announced", detail=_when(made), actor=f"user:{actor_id.hex}")
        change_counters.notify_change(f"user:{actor_id.hex}")
    return made


def cancel_maintenance(*, actor_id: UUID, host_id: UUID, maintenance_id: UUID) -> Maintenance:
    """Cancel announced maintenance, or end it early; repeating it changes nothing.

    Raises:
        NotFound: the host has no such maintenance.
        IllegalTransition: it is over already.
    """
    host_of(actor_id, host_id)
    now = clock.now()
    with use_case():
        host = lock_host(host_id)
        window = maintenance_of(host_id).filter(pk=maintenance_id).first()
        if window is None:
            raise NotFound("This maintenance doesn't exist.")
        if window.cancelled_at is not None:
            return window
        if window.ends_at <= now:
            raise IllegalTransition("This maintenance has ended.")
        window.cancelled_at = now
        window.told_at = None if window.told_at else now  # renters who were notified of it must be notified of its end
        window.save(update_fields=["cancelled_at", "told_at"])
        record_event(host_id=host_id, kind="maintenance_cancelled", detail=_when(window), actor=f"user:{actor_id.hex}")
        if window.begun_at is not None:
            _end(host, window, now)
        change_counters.notify_change(f"user:{actor_id.hex}")
    return window


def advance_maintenance(*, now: datetime) -> int:
    """Begin due maintenance and end what is over; return how many changed.

    While it lasts the host takes no new rents.
    """
    turned = 0
    for window in [*maintenance_to_end(now), *maintenance_to_start(now)]:
        with use_case():
            host = lock_host(window.host_id)
            window.refresh_from_db()
            if window.cancelled_at is None:
                turned += _end(host, window, now) if window.ends_at <= now else _start(host, window, now)
    return turned


def mark_renters_notified(*, maintenance_id: UUID) -> bool:
    """Record that renters are being notified; False when it was done already.

    Runs inside the caller's transaction.
    """
    untold = Maintenance.objects.filter(pk=maintenance_id, told_at__isnull=True)
    return bool(untold.update(told_at=clock.now()))


def _start(host: Host, window: Maintenance, now: datetime) -> bool:
    """Begin maintenance once.

    A host that was draining before also stays so at the end.
    """
    if window.begun_at is not None:
        return False
    window.begun_at, window.drained = now, not host.draining
    window.save(update_fields=["begun_at", "drained"])
    record_event(host_id=host.pk, kind="maintenance_begun", detail=_when(window), actor=SWEEP)
    _drain(host, window, draining=True)
    return True


def _end(host: Host, window: Maintenance, now: datetime) -> bool:
    """End maintenance once; new rents are allowed again if this maintenance had stopped them."""
    if window.over_at is not None:
        return False
    window.over_at = now
    window.save(update_fields=["over_at"])
    record_event(host_id=host.pk, kind="maintenance_over", detail=_when(window), actor=SWEEP)
    _drain(host, window, draining=False)
    return True


def _drain(host: Host, window: Maintenance, *, draining: bool) -> None:
    if window.drained:
        Host.objects.filter(pk=host.pk).update(draining=draining)
        refresh_offers_of_host(host_id=host.pk)
    change_counters.notify_change(f"user:{host.owner_id.hex}")


def _check_times(now: datetime, starts_at: datetime, ends_at: datetime) -> None:
    wrong = []
    if starts_at - now < NOTICE:
        hours = NOTICE.total_seconds() // 3600
        wrong.append(FieldError("starts_at", "too_soon", f"Announce it at least {hours:.0f} hours ahead."))
    elif starts_at - now > MAINTENANCE_AHEAD:
        wrong.append(FieldError("starts_at", "too_far", f"Announce it at most {MAINTENANCE_AHEAD.days} days ahead."))
    if ends_at <= starts_at:
        wrong.append(FieldError("ends_at", "order", "It must end after it begins."))
    elif ends_at - starts_at > MAINTENANCE_LONGEST:
        hours = MAINTENANCE_LONGEST.total_seconds() // 3600
        wrong.append(FieldError("ends_at", "too_long", f"It may last at most {hours:.0f} hours."))
    if wrong:
        raise InvalidInput(" ".join(each.detail for each in wrong), errors=wrong)


def _check_others(windows: Sequence[Maintenance], starts_at: datetime, ends_at: datetime) -> None:
    """Refuse overlapping or too frequent maintenance.

    One cancelled before its beginning excuses nothing and is not counted.
    """
    standing = [each for each in windows if each.cancelled_at is None or each.cancelled_at > each.starts_at]
    if any(each.starts_at < ends_at and starts_at < (each.cancelled_at or each.ends_at) for each in standing):
        raise InvalidInput(
            "Another maintenance of this host is announced for this time.",
            errors=[FieldError("starts_at", "overlap", "Choose another time, or cancel the other one.")],
        )
    if too_many([each.starts_at for each in standing], starts_at):
        raise InvalidInput(
            f"A host may announce {MAINTENANCE_MOST} maintenances in any {MAINTENANCE_SPAN.days} days.",
            errors=[FieldError("starts_at", "too_many", "Choose a later time, or cancel another one.")],
        )


def too_many(others: Iterable[datetime], wanted: datetime) -> bool:
    """Return whether some period of MAINTENANCE_SPAN would contain more than MAINTENANCE_MOST beginnings."""
    begins = sorted([*others, wanted])
    return any(late - early < MAINTENANCE_SPAN for early, late in zip(begins, begins[MAINTENANCE_MOST:], strict=False))


def _when(window: Maintenance) -> MaintenancePeriod:
    category = MaintenanceCategory(window.category)
    return MaintenancePeriod(category=category, begins=window.starts_at, ends=window.ends_at)
