"""What an agent would answer to a self-test."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from common import clock
from marketplace.models import Host, SelfTest
from marketplace.self_tests.requirements import CheckRow
from marketplace.self_tests.services import SelfTestRow, record_self_test, request_self_test


def good_rows(host: Host, *, simulated: bool = False) -> list[CheckRow]:
    """Every check of a host in order."""
    rows = [
        CheckRow("engine_version", True, "27.1", "at least 20.10"),
        CheckRow("kernel", True, "6.1", "at least 4.18"),
        CheckRow("gpu_present", value=float(host.gpus.filter(present=True).count()), actual="found"),
        CheckRow("disk_free", value=900.0, unit="GB"),
        CheckRow("disk_read", value=3000.0, unit="MB/s"),
        CheckRow("disk_write", value=2000.0, unit="MB/s"),
        CheckRow("disk_random_read", value=12_000.0, unit="IOPS"),
        CheckRow("disk_random_write", value=30_000.0, unit="IOPS"),
        CheckRow("network_up", value=500.0, unit="Mbit/s"),
        CheckRow("network_down", value=800.0, unit="Mbit/s"),
        CheckRow("clock", value=0.1, unit="s"),
    ]
    for gpu in host.gpus.filter(present=True):
        rows.append(CheckRow("gpu_exclusive", True, "0 programs of others", value=0.0, gpu=gpu.uuid))
        rows.append(CheckRow("gpu_memory", value=float(gpu.vram_mb), unit="MiB", gpu=gpu.uuid))
        rows.append(CheckRow("gpu_compute", value=77.0, unit="TFLOPS", gpu=gpu.uuid))
    return [replace(row, simulated=simulated) for row in rows]


def but(rows: Sequence[CheckRow], check_id: str, *, gpu: str | None = None, **changes: object) -> list[CheckRow]:
    """The same rows with one check (of one GPU) changed."""
    return [
        replace(row, **changes) if row.id == check_id and gpu in (None, row.gpu) else row  # type: ignore[arg-type]
        for row in rows
    ]


def answer(test: SelfTest, rows: Sequence[CheckRow], *, at: datetime | None = None) -> SelfTest:
    row = SelfTestRow(test.pk, rows, 12.5)
    assert record_self_test(host_id=test.host_id, row=row, agent_version="0.1.0", at=at or clock.now())
    test.refresh_from_db()
    return test


def put_to_test(host: Host, rows: Sequence[CheckRow] | None = None, *, at: datetime | None = None) -> SelfTest:
    """Asked for by the owner, answered at once."""
    test = request_self_test(actor_id=UUID(str(host.owner_id)), host_id=host.pk)
    return answer(test, good_rows(host) if rows is None else rows, at=at)
