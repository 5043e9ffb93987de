"""The systemd unit."""

import configparser
from pathlib import Path

from agents.daemon.installation.service import unit_text


def test_the_unit_runs_this_agent_and_shares_its_mounts() -> None:
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    unit.read_string(unit_text(Path("/var/lib/berth-agent")))
    service = unit["Service"]
    assert service["ExecStart"].endswith("run --state-dir /var/lib/berth-agent")
    assert service["KillMode"] == "process"
    private = {"ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateMounts", "PrivateDevices"}
    assert not private & set(service), "the engine must see the data disks"
