"""A host that carries out what is asked of its disks, as an agent would report it."""

from typing import Any

from common import clock
from instances.host_reports.operation_results import apply_results
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, record_operations
from tests.host_messages import message_of
from tests.instances.fake_host import FakeHost

GIB = 1024**3
CHECKSUM = "5e" * 32


def carry_out(host: FakeHost, *, fail: str = "", outcome: dict[str, str] | None = None) -> list[str]:
    """Everything that is asked now ends; the kinds of work, in order."""
    operations = desired_operations(host.host.pk)
    rows = [_ended(order.id, order.kind, fail, outcome) for order in operations]
    record_operations(host_id=host.host.pk, rows=rows, at=clock.now())
    apply_results()
    return [order.kind for order in operations]


def _ended(order_id: Any, kind: str, fail: str, outcome: dict[str, str] | None) -> OperationRow:
    if fail:
        return OperationRow(order_id, "failed", failure_code=fail, detail=message_of("It went wrong."))
    result = {"checksum": CHECKSUM, "stored_bytes": str(3 * GIB - 1), "size_bytes": str(20 * GIB)}
    told_of = ("take_snapshot", "receive_volume")
    return OperationRow(order_id, "done", outcome=(result if outcome is None else outcome) if kind in told_of else {})
