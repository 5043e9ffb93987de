"""Between the wire's messages and the rows of the domain, which knows no agents."""

import re
from collections.abc import Iterable
from uuid import UUID

from agents.gateway.errors import Malformed, NoCommonVersion
from agents.protocol.codec import M, MalformedMessage, decode
from agents.protocol.messages import (
    DesiredInstance,
    DiskUse,
    EnrolRequest,
    HostFacts,
    InstanceSample,
    Mount,
    ObservedInstance,
    ObservedOperation,
    OperationOrder,
    SelfTestResult,
)
from agents.protocol.readings import GpuEvent
from agents.protocol.version import VersionMismatch, negotiate
from common.errors import FieldError
from instances.selectors import DesiredRow
from instances.services.alerts import GpuEventRow
from instances.services.observations import ObservedRow
from marketplace.requirements import CheckRow
from marketplace.services.hosts import GpuShape, HostShape
from marketplace.services.self_tests import SelfTestRow
from storage.selectors import OrderRow
from storage.services.disk_use import DiskUseRow
from storage.services.operations import OperationRow
from storage.services.pulls import PullRow

_UUID = re.compile(r"[0-9a-f]{32}")
_LARGEST_SIZE = 2**31 - 1
_LARGEST_XID = 9999
_UUID_CHARS = 60
_MOST_GPU_EVENTS = 64
_PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")


def read_message(kind: type[M], body: bytes) -> M:
    try:
        return decode(kind, body)
    except MalformedMessage as error:
        raise _malformed(str(error), field=str(error).partition(" ")[0]) from error


def common_version(offered: list[int]) -> int:
    try:
        return negotiate(offered)
    except VersionMismatch as error:
        raise NoCommonVersion(str(error)) from error


def read_enrolment(body: bytes) -> EnrolRequest:
    request = read_message(EnrolRequest, body)
    if not _PUBLIC_KEY.fullmatch(request.public_key):
        field = "EnrolRequest.public_key"
        raise _malformed(f"{field} must be 64 lower-case hex digits.", field=field)
    return request


def host_shape(facts: HostFacts) -> HostShape:
    return HostShape(**{**vars(facts), "gpus": [GpuShape(**vars(gpu)) for gpu in facts.gpus]})


def observed_rows(instances: Iterable[ObservedInstance]) -> list[ObservedRow]:
    rows = []
    for position, instance in enumerate(instances):
        instance_id = _uuid(instance.id, f"Report.instances[{position}].id")
        rows.append(ObservedRow(**{**vars(instance), "id": instance_id, "sample": _plausible(instance.sample)}))
    return rows


def _plausible(sample: InstanceSample | None) -> InstanceSample | None:
    """None for readings that cannot be: a broken sensor must not cost the report that proves the instance runs."""
    if sample is None:
        return None
    sizes = [sample.ram_mb, sample.disk_mb, sample.oom_kills, sample.sessions, sum(gpu.vram_used_mb for gpu in sample.gpus)]
    sizes += [sum(gpu.power_w for gpu in sample.gpus), *(gpu.temperature_c << 16 for gpu in sample.gpus)]  # kept in 16 bits
    gauges = [sample.cpu_pct, sample.rx_bytes, sample.tx_bytes, *(gpu.util_pct for gpu in sample.gpus)]
    sizes += [value for series in vars(sample.trace).values() for value in series] if sample.trace else []
    possible = all(0 <= size <= _LARGEST_SIZE for size in sizes) and all(gauge >= 0 for gauge in gauges)
    return sample if possible else None


def gpu_event_rows(events: Iterable[GpuEvent]) -> list[GpuEventRow]:
    """At most so many, and no numbers that cannot be: a driver in trouble may write without end."""
    known = [one for one in events if 0 < one.xid <= _LARGEST_XID and one.count > 0 and len(one.uuid) <= _UUID_CHARS]
    return [GpuEventRow(event.uuid, event.xid, min(event.count, _LARGEST_SIZE)) for event in known[:_MOST_GPU_EVENTS]]


def self_test_row(result: SelfTestResult) -> SelfTestRow:
    checks = [CheckRow(**vars(check)) for check in result.checks]
    return SelfTestRow(_uuid(result.id, "Report.self_test.id"), checks, result.seconds)


def operation_rows(operations: Iterable[ObservedOperation]) -> list[OperationRow]:
    return [
        OperationRow(**{**vars(operation), "id": _uuid(operation.id, f"Report.operations[{position}].id")})
        for position, operation in enumerate(operations)
    ]


def pull_rows(rows: Iterable[ObservedRow], foreign: Iterable[UUID]) -> list[PullRow]:
    """Of the host's own instances alone."""
    strangers = set(foreign)
    return [PullRow(row.id, row.layers) for row in rows if row.layers and row.id not in strangers]


def operation_orders(rows: Iterable[OrderRow]) -> list[OperationOrder]:
    return [OperationOrder(row.id.hex, row.kind, row.args) for row in rows]


def absent_ids(texts: Iterable[str]) -> list[UUID]:
    return [_uuid(text, f"Report.absent[{position}]") for position, text in enumerate(texts)]


def desired_instances(rows: Iterable[DesiredRow]) -> list[DesiredInstance]:
    return [
        DesiredInstance(
            **{**vars(row), "id": UUID(str(row.id)).hex, "mounts": [Mount(**vars(mount)) for mount in row.mounts]}
        )
        for row in rows
    ]


def disk_use_rows(disks: Iterable[DiskUse]) -> list[DiskUseRow]:
    return [
        DiskUseRow(**{**vars(disk), "id": _uuid(disk.id, f"Report.disks[{position}].id")})
        for position, disk in enumerate(disks)
    ]


def _uuid(text: str, field: str) -> UUID:
    if not _UUID.fullmatch(text):
        raise _malformed(f"{field} must be 32 lower-case hex digits.", field=field)
    return UUID(hex=text)


def _malformed(detail: str, *, field: str) -> Malformed:
    return Malformed(detail, errors=[FieldError(field, "malformed", detail)])
