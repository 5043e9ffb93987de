"""Between the wire's messages and the rows of the domain, which knows no agents."""

import re
from collections.abc import Iterable
from uuid import UUID

from agents.gateway.errors import Malformed, NoCommonVersion
from agents.protocol.codec import M, MalformedMessage, decode
from agents.protocol.messages import (
    DesiredInstance,
    EnrolRequest,
    HostFacts,
    InstanceSample,
    ObservedInstance,
    SelfTestResult,
)
from agents.protocol.version import VersionMismatch, negotiate
from common.errors import FieldError
from instances.selectors import DesiredRow
from instances.services.reconcile import ObservedRow
from marketplace.requirements import CheckRow
from marketplace.services.hosts import GpuShape, HostShape
from marketplace.services.self_tests import SelfTestRow

_UUID = re.compile(r"[0-9a-f]{32}")
_LARGEST_SIZE = 2**31 - 1
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
    sizes = [sample.ram_mb, sample.disk_mb, sum(gpu.vram_used_mb for gpu in sample.gpus)]
    gauges = [sample.cpu_pct, sample.rx_bytes, sample.tx_bytes, *(gpu.util_pct for gpu in sample.gpus)]
    possible = all(0 <= size <= _LARGEST_SIZE for size in sizes) and all(gauge >= 0 for gauge in gauges)
    return sample if possible else None


def self_test_row(result: SelfTestResult) -> SelfTestRow:
    checks = [CheckRow(**vars(check)) for check in result.checks]
    return SelfTestRow(_uuid(result.id, "Report.self_test.id"), checks, result.seconds)


def absent_ids(texts: Iterable[str]) -> list[UUID]:
    return [_uuid(text, f"Report.absent[{position}]") for position, text in enumerate(texts)]


def desired_instances(rows: Iterable[DesiredRow]) -> list[DesiredInstance]:
    return [DesiredInstance(**{**vars(row), "id": UUID(str(row.id)).hex}) for row in rows]


def _uuid(text: str, field: str) -> UUID:
    if not _UUID.fullmatch(text):
        raise _malformed(f"{field} must be 32 lower-case hex digits.", field=field)
    return UUID(hex=text)


def _malformed(detail: str, *, field: str) -> Malformed:
    return Malformed(detail, errors=[FieldError(field, "malformed", detail)])
