"""Conversion between protocol messages and the rows of the domain apps, which know no agents."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from uuid import UUID

from agents.gateway.errors import Malformed, NoCommonVersion
from agents.gateway.message_rules import BOUNDS, BOUNDS_AT_ENROLMENT
from agents.gateway.stored_messages import stored_detail
from agents.protocol.codec import MalformedMessage, decode_by_rules
from agents.protocol.launch_messages import Launch, ReadinessCheck
from agents.protocol.messages import (
    DesiredInstance,
    DiskUse,
    EnrolRequest,
    Holding,
    HostFacts,
    Mount,
    ObservedInstance,
    ObservedOperation,
    OperationOrder,
    PrefetchImage,
    Report,
    SelfTestResult,
)
from agents.protocol.telemetry_messages import GpuEvent
from agents.protocol.version import VersionMismatch, negotiate
from common.errors import FieldError
from common.messages.host_text import mark_host_text
from instances.core.observations import ObservedRow
from instances.core.selectors import DesiredRow
from instances.epochs.services import HeldRow
from instances.launch.orders import LaunchRow
from instances.monitoring.alerts import GpuEventRow
from marketplace.hosts.hosts import ReportedGpu, ReportedHost
from marketplace.self_tests.requirements import CheckRow
from marketplace.self_tests.services import SelfTestRow
from storage.images.pull_progress import PullRow
from storage.operations.selectors import OrderRow
from storage.operations.services import OperationRow
from storage.volumes.usage import DiskUseRow

T = TypeVar("T")

_PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")


def read_report(body: bytes) -> tuple[Report, list[str]]:
    """Decode a report; return what the rules accept and one line for each refused part.

    Raises:
        Malformed: The report as a whole cannot be read.
    """
    return _read(lambda: decode_by_rules(Report, body, BOUNDS))


def common_version(offered: list[int]) -> int:
    try:
        return negotiate(offered)
    except VersionMismatch as error:
        raise NoCommonVersion(str(error)) from error


def read_enrolment(body: bytes) -> tuple[EnrolRequest, list[str]]:
    request, refused = _read(lambda: decode_by_rules(EnrolRequest, body, BOUNDS_AT_ENROLMENT))
    if not _PUBLIC_KEY.fullmatch(request.public_key):
        field = "EnrolRequest.public_key"
        raise _malformed(f"{field} must be 64 lower-case hex digits.", field=field)
    return request, refused


def _read(read: Callable[[], tuple[T, list[str]]]) -> tuple[T, list[str]]:
    try:
        return read()
    except MalformedMessage as error:
        raise _malformed(str(error), field=str(error).partition(" ")[0]) from error


def host_shape(facts: HostFacts) -> ReportedHost:
    gpus = [ReportedGpu(**{**vars(gpu), "detail": mark_host_text(gpu.detail)}) for gpu in facts.gpus]
    return ReportedHost(**{**vars(facts), "gpus": gpus, "warnings": [mark_host_text(warning) for warning in facts.warnings]})


def observed_rows(instances: Iterable[ObservedInstance]) -> list[ObservedRow]:
    """Return the observed instances as rows; of an instance that is named twice, the first counts."""
    once = {instance.id: instance for instance in reversed(list(instances))}
    return [ObservedRow(**_said(instance)) for instance in once.values()]


def _said(row: ObservedInstance | ObservedOperation) -> dict[str, Any]:
    columns = {**vars(row), "id": UUID(hex=row.id), "detail": stored_detail(row.detail, row.said)}
    del columns["said"]
    return columns


def held_rows(holdings: Iterable[Holding]) -> list[HeldRow]:
    """Return what the host holds as rows; of an instance that is named twice, the first counts."""
    once = {holding.id: holding for holding in reversed(list(holdings))}
    return [HeldRow(**{**vars(holding), "id": UUID(hex=holding.id)}) for holding in once.values()]


def gpu_event_rows(events: Iterable[GpuEvent]) -> list[GpuEventRow]:
    return [GpuEventRow(event.uuid, event.xid, event.count) for event in events]


def self_test_row(result: SelfTestResult) -> SelfTestRow:
    """Return the result as a row; `actual` is left unmarked, since pages always quote it as the host's."""
    checks = [
        CheckRow(**{**vars(check), "required": mark_host_text(check.required), "remedy": mark_host_text(check.remedy)})
        for check in result.checks
    ]
    return SelfTestRow(UUID(hex=result.id), checks, result.seconds)


def operation_rows(operations: Iterable[ObservedOperation]) -> list[OperationRow]:
    return [OperationRow(**_said(operation)) for operation in operations]


def operation_ids(operations: Iterable[ObservedOperation]) -> frozenset[UUID]:
    return frozenset(UUID(hex=operation.id) for operation in operations)


def pull_rows(rows: Iterable[ObservedRow], foreign: Iterable[UUID]) -> list[PullRow]:
    """Return the image pulls of the host's own instances."""
    strangers = set(foreign)
    return [PullRow(row.id, row.layers) for row in rows if row.layers and row.id not in strangers]


def operation_orders(rows: Iterable[OrderRow]) -> list[OperationOrder]:
    return [OperationOrder(row.id.hex, row.kind, row.args) for row in rows]


def prefetch_images(rows: Iterable[tuple[str, int]]) -> list[PrefetchImage]:
    return [PrefetchImage(reference, size_bytes) for reference, size_bytes in rows]


def absent_ids(texts: Iterable[str]) -> list[UUID]:
    return [UUID(hex=text) for text in texts]


def desired_instances(rows: Iterable[DesiredRow]) -> list[DesiredInstance]:
    return [
        DesiredInstance(
            **{
                **vars(row),
                "id": UUID(str(row.id)).hex,
                "mounts": [Mount(**vars(mount)) for mount in row.mounts],
                "launch": None if row.launch is None else _launch(row.launch),
            }
        )
        for row in rows
    ]


def _launch(row: LaunchRow) -> Launch:
    check: Any = None if row.readiness is None else ReadinessCheck(**vars(row.readiness))
    return Launch(**{**vars(row), "readiness": check})


def disk_use_rows(disks: Iterable[DiskUse]) -> list[DiskUseRow]:
    once = {disk.id: disk for disk in disks}
    return [DiskUseRow(**{**vars(disk), "id": UUID(hex=disk.id)}) for disk in once.values()]


def _malformed(detail: str, *, field: str) -> Malformed:
    return Malformed(detail, errors=[FieldError(field, "malformed", detail)])
