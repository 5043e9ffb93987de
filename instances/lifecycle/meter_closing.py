"""Effects of host reports on the meters of an instance: use begins, ends, is interrupted, or all ends."""

from datetime import datetime
from uuid import UUID

from billing.constants import DISK_SOURCE, HOLD_SOURCE, INSTANCE_SOURCE, RETENTION_SOURCE, TERM_SOURCE
from billing.errors import InsufficientFunds
from billing.metering.costs import open_holds
from billing.metering.escrow import lock_parties
from billing.metering.meters import close_meter
from billing.pricing.estimates import RESERVED
from common.db.transactions import use_case
from instances.core.money_messages import refusal
from instances.core.selectors import active_term, gone_among, next_term
from instances.core.transitions import SYSTEM, record_event
from instances.metering.meters import close_use, open_disk, open_kept_gpus, open_use
from instances.metering.reserved_terms import is_prepaid, pause_term, payee_of, resume_term, start_term
from instances.models import Instance
from storage.volumes.attachments import detach_all


def start_metering_use(instance: Instance, *, at: datetime) -> None:
    """Meter the GPUs of an instance that has started to run, or begin or resume its reserved term.

    Its disk is metered since the lease.
    """
    payee_id = payee_of(instance)
    if instance.billing_mode == RESERVED:
        _start_or_resume_term(instance, at, payee_id)
    else:
        open_use(instance, at=at, payee_id=payee_id)
    if instance.disk_micros_per_day and open_holds(source_kind=DISK_SOURCE, source_ids=[instance.pk]):
        open_disk(instance, at=at, payee_id=payee_id)


def close_use_of(instance: Instance, *, host_failed: bool = False) -> None:
    """Close the meter of an instance that no longer runs.

    A reserved term goes on being charged, unless its host has failed or the term has not begun.
    """
    if instance.billing_mode == RESERVED:
        lock_parties(renter_id=instance.renter_id, host_owner_id=payee_of(instance))
        if active_term(instance.pk) is None:
            _release_hold_of_next_term(instance)
        elif host_failed:
            pause_term(instance)
    close_use(instance.pk)


def keep_gpus(instance: Instance, *, at: datetime) -> bool:
    """Return whether a stopped instance keeps its GPUs: by a term, or for the fee, which begins now."""
    if instance.billing_mode == RESERVED:
        return active_term(instance.pk) is not None
    if instance.holds_gpus:
        open_kept_gpus(instance, at=at, payee_id=payee_of(instance))
    return instance.holds_gpus


def resume_term_of_failed(instance: Instance, *, at: datetime) -> bool:
    """Resume the term of a failed instance whose container has ended.

    Returns whether a term keeps its GPUs.
    """
    term = active_term(instance.pk) if instance.billing_mode == RESERVED else None
    if term is None:
        return False
    try:
        resume_term(term, instance, at=at, payee_id=payee_of(instance))
    except InsufficientFunds as error:  # the sweep of unpaid terms ends it
        record_event(instance, kind="term_unpaid", actor=SYSTEM, detail=refusal(error))
    return True


def close_everything(instance: Instance, *, at: datetime) -> None:
    """Close all meters and holds of an instance that is gone, and detach its volumes."""
    close_use(instance.pk)
    for source_kind in (DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE):
        close_meter(source_kind=source_kind, source_id=instance.pk, at=at)
    detach_all(holder=instance.pk)


def close_leftover_meters() -> int:
    """Charge and close what is still held for instances that are gone; return how many.

    This is a sweep.
    """
    kinds = (INSTANCE_SOURCE, DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE)
    gone = {kind: gone_among(list(open_holds(source_kind=kind))) for kind in kinds}
    return sum(_close(kind, instance_id) for kind, ids in gone.items() for instance_id in sorted(ids))


def _start_or_resume_term(instance: Instance, at: datetime, payee_id: UUID) -> None:
    running, coming = active_term(instance.pk), next_term(instance.pk)
    if running is not None:
        resume_term_of_failed(instance, at=at)
    elif coming is not None:
        start_term(coming, instance, at=at, payee_id=payee_id)


def _release_hold_of_next_term(instance: Instance) -> None:
    """Release the hold for a term that has not begun; what was prepaid stays until it does."""
    coming = next_term(instance.pk)
    if coming is not None and not is_prepaid(coming):
        close_meter(source_kind=TERM_SOURCE, source_id=coming.pk)


def _close(source_kind: str, instance_id: UUID) -> bool:
    with use_case():
        close_meter(source_kind=source_kind, source_id=instance_id)
    return True
