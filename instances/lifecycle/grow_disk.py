"""Growing of data disks while instances run; the new size is charged once the host has made it."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from billing.errors import InsufficientFunds
from common import clock
from common.errors import FieldError, IllegalTransition, wrong_field
from common.messages.rendering import columns
from instances.access.logs import KIND as LOG
from instances.constants import GROW_WITHIN
from instances.core.event_messages import DiskResized, DiskSize
from instances.core.money_messages import refusal
from instances.core.transitions import HOST, RENTER, record_event, touch_host, touch_renter
from instances.errors import DiskTooLarge
from instances.metering.meters import close_disk, hold_for_disk, open_disk
from instances.metering.reserved_terms import locked_with_wallets, payee_of, update_locked_columns
from instances.models import Instance
from instances.states import ENDING, InstanceState
from marketplace.constants import DATA_DISK_GB_MAX, FREE_DATA_DISK_GB
from storage.operations.selectors import operations_of
from storage.operations.services import request_operation
from storage.states import OperationState

if TYPE_CHECKING:
    from storage.models import Operation

KIND: Final = "grow_disk"
_NO_DISK: Final = "disk_missing"
_AT_REST: Final = (InstanceState.STOPPED, InstanceState.FAILED)


def disk_price(instance: Instance, data_disk_gb: int) -> int:
    """Return the price per day of a disk of this size.

    What exists keeps its agreed price; what is added costs the offer's present price.
    """
    paid_now = max(0, instance.data_disk_gb - FREE_DATA_DISK_GB)
    more = max(0, data_disk_gb - FREE_DATA_DISK_GB) - paid_now
    return instance.disk_micros_per_day + more * instance.offer.disk_micros_gb_day


def check_growth(instance: Instance, data_disk_gb: int) -> None:
    """Raise InvalidInput, DiskTooLarge or IllegalTransition when the data disk cannot get this size."""
    if data_disk_gb < instance.data_disk_gb:
        raise wrong_field(
            "data_disk_gb", _("A data disk can't shrink; this one has %(size)s GB.") % {"size": instance.data_disk_gb}
        )
    most = min(DATA_DISK_GB_MAX, instance.data_disk_gb + instance.offer.disk_free_gb)
    if data_disk_gb > most:
        detail = _("The data disk can have at most %(most)s GB on this host.") % {"most": most}
        raise DiskTooLarge(detail, errors=[FieldError("data_disk_gb", DiskTooLarge.code, detail)])
    if not instance.data_disk_gb and instance.state not in _AT_REST:
        raise wrong_field("data_disk_gb", _("Stop the instance before adding a data disk."))
    if operations_of(instance.pk).filter(ended_at=None).exclude(kind=LOG).exists():
        raise IllegalTransition(
            "Another operation on its data is in progress; try again once it has finished.", actions=instance.actions
        )


def grow(instance: Instance, data_disk_gb: int) -> None:
    """Hold the money, then request the larger disk of the host.

    Call it inside a use case that has locked the wallets and checked the growth.
    """
    micros = disk_price(instance, data_disk_gb)
    detail = DiskResized(before=instance.data_disk_gb, after=data_disk_gb)
    before, instance.disk_micros_per_day = instance.disk_micros_per_day, micros
    hold_for_disk(instance)
    instance.disk_micros_per_day = before
    if not instance.data_disk_gb:
        update_locked_columns(instance, data_disk_gb=data_disk_gb, disk_micros_per_day=micros)
        record_event(instance, kind="disk_set", actor=RENTER, detail=detail)
        _charge(instance, clock.now())
        touch_host(instance)
    else:
        update_locked_columns(instance, setback_code="", **columns("setback_detail", None))
        request_operation(
            host_id=instance.host_id,
            owner_id=instance.renter_id,
            kind=KIND,
            subject=instance.pk,
            args={"instance": instance.pk.hex, "size_gb": str(data_disk_gb), "micros_per_day": str(micros)},
            within=GROW_WITHIN,
        )
        record_event(instance, kind="growth_asked", actor=RENTER, detail=detail)
    touch_renter(instance)


def apply_growth_result(operation: "Operation") -> None:
    """Apply the result of a growth operation, in the transaction that marks it as concluded."""
    instance, now = locked_with_wallets(operation.subject), clock.now()
    if instance.state in ENDING:
        return
    size_gb, micros = int(operation.args["size_gb"]), int(operation.args["micros_per_day"])
    # An instance that never ran has no disk yet: it is made in full size at the first start.
    unmade = operation.failure_code == _NO_DISK and instance.state in _AT_REST and not instance.data_disk_made
    if operation.state == OperationState.DONE or unmade:
        _apply_new_size(instance, size_gb, micros, now, outcome=operation.outcome)
    else:
        _record_failure(instance, operation, now)
    touch_renter(instance)


def _apply_new_size(instance: Instance, size_gb: int, micros: int, now: datetime, *, outcome: Mapping[str, str]) -> None:
    """Store the new size, and replace the meter so that each statement line names its size.

    The former meter ends at the moment at which the new one begins.
    """
    if instance.disk_micros_per_day and micros != instance.disk_micros_per_day:
        close_disk(instance.pk, at=now)
    later = outcome.get("applied") == "at_next_start" and instance.state not in _AT_REST
    instance.data_disk_gb, instance.disk_micros_per_day = size_gb, micros
    Instance.objects.filter(pk=instance.pk).update(
        data_disk_gb=size_gb, disk_micros_per_day=micros, generation=F("generation") + 1
    )
    _charge(instance, now)
    kind = "disk_grown_at_next_start" if later else "disk_grown"
    record_event(instance, kind=kind, actor=HOST, detail=DiskSize(size=size_gb))
    touch_host(instance)


def _record_failure(instance: Instance, operation: "Operation", now: datetime) -> None:
    """Record that the disk keeps its size and price."""
    if not instance.disk_micros_per_day:
        close_disk(instance.pk, at=now)
    code, detail = operation.failure_code or operation.state, operation.last_message
    setback = {"setback_code": code, **columns("setback_detail", detail)}
    Instance.objects.filter(pk=instance.pk).update(**setback, generation=F("generation") + 1)
    record_event(instance, kind="growth_failed", actor=HOST, detail=detail)


def _charge(instance: Instance, now: datetime) -> None:
    """Hold money for the disk and open its meter.

    Where the money does not suffice, the sweep of unpaid disks opens it once it does.
    """
    try:
        with transaction.atomic():  # a savepoint: if the hold fails, coupons that were drawn for it are restored
            hold_for_disk(instance)
            open_disk(instance, at=now, payee_id=payee_of(instance))
    except InsufficientFunds as error:
        record_event(instance, kind="disk_unpaid", actor=HOST, detail=refusal(error))
