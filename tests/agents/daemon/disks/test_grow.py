"""Growth where there are no disks: it says so. On real ones: tests/docker/test_growth.py."""

from pathlib import Path

from agents.daemon.disks import ext4
from agents.daemon.disks.grow import KIND, simulated_growth
from agents.daemon.disks.operation_runner import Operation
from agents.protocol.messages import OperationOrder


def test_a_simulated_disk_is_said_to_have_grown() -> None:
    order = OperationOrder("b" * 32, KIND, {"instance": "a" * 32, "size_gb": "30"})
    outcome = simulated_growth()[KIND](Operation(order, lambda urgent: None))
    assert outcome == {"size_gb": "30", "applied": "now", "simulated": "true"}


def test_what_holds_no_file_system_is_never_short(tmp_path: Path) -> None:
    for content in (b"", b"x" * 5000):
        (tmp_path / "image").write_bytes(content)
        assert ext4.size_of_system(tmp_path / "image") == 0
        assert not ext4.is_short(tmp_path / "image")
