"""A larger data disk: asked of the host while the instance goes on, charged for from the moment that it is there."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models import F

from billing.errors import InsufficientFunds
from common import clock
from common.errors import FieldError, UnlawfulMove, wrong_field
from instances.access.logs import KIND as LOG
from instances.constants import GROW_WITHIN
from instances.core.transitions import HOST, RENTER, record_event, touch_host, touch_renter
from instances.errors import DiskTooLarge
from instances.metering.meters import close_disk, hold_for_disk, open_disk
from instances.metering.reserved_terms import locked_with_wallets, payee_of, set_billing
from instances.models import Instance
from instances.states import ENDING, InstanceState
from marketplace.constants import DATA_DISK_GB_MAX, FREE_DATA_DISK_GB
from storage.operations.selectors import operations_of
from storage.operations.services import ask_operation
from storage.states import OperationState

if TYPE_CHECKING:
    from storage.models import Operation

KIND: Final = "grow_disk"
_NO_DISK: Final = "disk_missing"
_AT_REST: Final = (InstanceState.STOPPED, InstanceState.FAILED)


def disk_price(instance: Instance, data_disk_gb: int) -> int:
    """What a disk of this size would cost a day: what it has at the price that was agreed on, the rest at today's."""
    paid_now = max(0, instance.data_disk_gb - FREE_DATA_DISK_GB)
    more = max(0, data_disk_gb - FREE_DATA_DISK_GB) - paid_now
    return instance.disk_micros_per_day + more * instance.offer.disk_micros_gb_day


def check_growth(instance: Instance, data_disk_gb: int) -> None:
    """Raises InvalidInput, DiskTooLarge or UnlawfulMove."""
    if data_disk_gb < instance.data_disk_gb:
        raise wrong_field("data_disk_gb", f"A data disk never gets smaller; this one has {instance.data_disk_gb} GB.")
    most = min(DATA_DISK_GB_MAX, instance.data_disk_gb + instance.offer.disk_free_gb)
    if data_disk_gb > most:
        detail = f"The data disk can have at most {most} GB here."
        raise DiskTooLarge(detail, errors=[FieldError("data_disk_gb", DiskTooLarge.code, detail)])
    if not instance.data_disk_gb and instance.state not in _AT_REST:
        raise wrong_field("data_disk_gb", "An instance without a data disk gets one while it is stopped.")
    if operations_of(instance.pk).filter(ended_at=None).exclude(kind=LOG).exists():
        raise UnlawfulMove("Other work on its data goes on; try again when that has ended.", actions=instance.actions)


def grow(instance: Instance, data_disk_gb: int) -> None:
    """Inside a use case that has locked the wallets and checked. The money is set aside before the host is asked."""
    micros = disk_price(instance, data_disk_gb)
    detail = f"{instance.data_disk_gb} → {data_disk_gb} GB"
    before, instance.disk_micros_per_day = instance.disk_micros_per_day, micros
    hold_for_disk(instance)
    instance.disk_micros_per_day = before
    if not instance.data_disk_gb:
        set_billing(instance, data_disk_gb=data_disk_gb, disk_micros_per_day=micros)
        record_event(instance, kind="disk_set", actor=RENTER, detail=detail)
        _charge(instance, clock.now())
        touch_host(instance)
    else:
        set_billing(instance, setback_code="", setback_detail="")
        ask_operation(
            host_id=instance.host_id,
            owner_id=instance.renter_id,
            kind=KIND,
            subject=instance.pk,
            args={"instance": instance.pk.hex, "size_gb": str(data_disk_gb), "micros_per_day": str(micros)},
            within=GROW_WITHIN,
        )
        record_event(instance, kind="growth_asked", actor=RENTER, detail=detail)
    touch_renter(instance)


def conclude_growth(operation: "Operation") -> None:
    """In the transaction that marks the operation concluded."""
    instance, now = locked_with_wallets(operation.subject), clock.now()
    if instance.state in ENDING:
        return
    size_gb, micros = int(operation.args["size_gb"]), int(operation.args["micros_per_day"])
    # One that never ran has no disk yet: it is made at its full size with the first start.
    unmade = operation.failure_code == _NO_DISK and instance.state in _AT_REST and not instance.data_disk_made
    if operation.state == OperationState.DONE or unmade:
        _take_over(instance, size_gb, micros, now, outcome=operation.outcome)
    else:
        _give_up(instance, operation, now)
    touch_renter(instance)


def _take_over(instance: Instance, size_gb: int, micros: int, now: datetime, *, outcome: Mapping[str, str]) -> None:
    """The former meter ends and another one begins at the same moment, so that each line says what it is for."""
    if instance.disk_micros_per_day and micros != instance.disk_micros_per_day:
        close_disk(instance.pk, at=now)
    later = outcome.get("applied") == "at_next_start" and instance.state not in _AT_REST
    instance.data_disk_gb, instance.disk_micros_per_day = size_gb, micros
    Instance.objects.filter(pk=instance.pk).update(
        data_disk_gb=size_gb, disk_micros_per_day=micros, generation=F("generation") + 1
    )
    _charge(instance, now)
    kind = "disk_grown_at_next_start" if later else "disk_grown"
    record_event(instance, kind=kind, actor=HOST, detail=f"{size_gb} GB")
    touch_host(instance)


def _give_up(instance: Instance, operation: "Operation", now: datetime) -> None:
    """The disk is as it was, and so is its price."""
    if not instance.disk_micros_per_day:
        close_disk(instance.pk, at=now)
    code, detail = operation.failure_code or operation.state, operation.detail
    Instance.objects.filter(pk=instance.pk).update(setback_code=code, setback_detail=detail, generation=F("generation") + 1)
    record_event(instance, kind="growth_failed", actor=HOST, detail=detail)


def _charge(instance: Instance, now: datetime) -> None:
    """Where the money does not reach, the sweep of unpaid disks begins as soon as it does."""
    try:
        with transaction.atomic():  # a savepoint: coupons that were drawn for nothing go back
            hold_for_disk(instance)
            open_disk(instance, at=now, payee_id=payee_of(instance))
    except InsufficientFunds as error:
        record_event(instance, kind="disk_unpaid", actor=HOST, detail=error.detail)
