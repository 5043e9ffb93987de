"""What a host says of itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.gpu.nvml import NvmlProbe, SimulatedProbe
from agents.daemon.lib.config import AgentConfig
from agents.daemon.telemetry import host_facts

CONFIG = AgentConfig(url="http://127.0.0.1:1", name="h1", runtime="simulated", address="h1.example.org")


class Engine(SimulatedRuntime):
    """A runtime that says it is Docker."""

    kind = "docker"  # type: ignore[assignment]  # the one lie of this test


@pytest.fixture
def simulation(tmp_path: Path) -> SimulatedRuntime:
    return SimulatedRuntime(tmp_path / "simulated.json", boot="b")


def test_a_simulated_host_is_made_for_its_gpus(simulation: SimulatedRuntime, tmp_path: Path) -> None:
    found = host_facts.gather(CONFIG, simulation, SimulatedProbe("RTX 4090:4", "s"), tmp_path)
    assert (found.runtime, found.cpu_cores, found.ram_mb, found.disk_kind) == ("simulated", 64, 4 * 65536, "nvme")
    assert (found.driver, found.cuda, len(found.gpus)) == ("560.35.03", "12.6", 4)
    assert (found.hostname, found.address, found.port_first, found.port_last) == ("h1", "h1.example.org", 20000, 20999)
    assert found.images == ["berth/base:1"]
    assert "simulated" in found.warnings[0]


def test_a_real_host_is_measured(tmp_path: Path) -> None:
    found = host_facts.gather(
        replace(CONFIG, runtime="docker", name=""), Engine(tmp_path / "s", boot="b"), NvmlProbe(), tmp_path
    )
    assert found.cpu_cores >= 1
    assert found.ram_mb > 0
    assert 0 < found.disk_free_gb <= found.disk_total_gb
    assert found.hostname and found.kernel and found.cpu_model
    assert "No GPU was found." in found.warnings


def test_simulated_gpus_on_a_real_engine_are_said_to_be(tmp_path: Path) -> None:
    config = replace(CONFIG, runtime="docker", port_first=20000, port_last=20010)
    found = host_facts.preflight(config, Engine(tmp_path / "s", boot="b"), SimulatedProbe("T4:1", "s"), tmp_path)
    assert "The GPUs of this host are simulated." in found
    assert not any("Ports" in item or "journal" in item for item in found)
    (tmp_path / "journal.damaged").touch()
    damaged = host_facts.preflight(config, Engine(tmp_path / "s", boot="b"), SimulatedProbe("T4:1", "s"), tmp_path)
    assert any("journal was damaged" in item for item in damaged)
    assert any(
        "Ports" in item
        for item in host_facts.preflight(
            replace(config, port_first=40000, port_last=40999), Engine(tmp_path / "s", boot="b"), NvmlProbe(), tmp_path
        )
    )


@pytest.mark.parametrize(("rotational", "kind"), [("0", "ssd"), ("1", "hdd"), (None, "unknown")])
def test_kinds_of_disk(tmp_path: Path, rotational: str | None, kind: str) -> None:
    disk = tmp_path / "devices" / "sda" / "sda1"
    disk.mkdir(parents=True)
    if rotational is not None:
        (disk.parent / "queue").mkdir()
        (disk.parent / "queue" / "rotational").write_text(rotational + "\n")
    assert host_facts.disk_kind(tmp_path, blocks=_blocks(tmp_path, disk)) == kind


def test_nvme_and_no_disk_at_all(tmp_path: Path) -> None:
    disk = tmp_path / "devices" / "nvme0n1"
    disk.mkdir(parents=True)
    assert host_facts.disk_kind(tmp_path, blocks=_blocks(tmp_path, disk)) == "nvme"
    assert host_facts.disk_kind(tmp_path, blocks=tmp_path / "none") == "unknown"


def _blocks(folder: Path, disk: Path) -> Path:
    """The kernel's folder of devices by number, with one link: that of the disk under `folder`."""
    blocks = folder / "block"
    blocks.mkdir()
    device = folder.stat().st_dev
    (blocks / f"{device >> 8 & 0xFFF}:{device & 0xFF}").symlink_to(disk)
    return blocks
