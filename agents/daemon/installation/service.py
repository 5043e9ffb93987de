"""The agent's systemd service, if this machine has one for this folder; otherwise nothing is done."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from agents.daemon.installation.releases import CURRENT, own_prefix

UNIT: Final = Path("/etc/systemd/system/berth-agent.service")
SYSTEMD: Final = Path("/run/systemd/system")  # exists while systemd is the init process
TIMEOUT_S: Final = 120


def has_service(state: Path) -> bool:
    """Return whether the unit belongs to this folder's agent."""
    return UNIT.exists() and f"--state-dir {state}\n" in UNIT.read_text()


def stop_service(state: Path) -> None:
    """Stop the service; containers keep running."""
    if has_service(state):
        _systemctl("stop", UNIT.name)


def start_service(state: Path) -> None:
    """Start the service if it is enabled: a disabled one was disabled on purpose."""
    if has_service(state) and _systemctl("is-enabled", UNIT.name):
        _systemctl("start", UNIT.name)


def restart_service(state: Path) -> None:
    """Restart the service with the version that is now installed."""
    if has_service(state):
        _systemctl("restart", UNIT.name)


def remove_service(state: Path) -> list[str]:
    """Remove the service and return what was removed."""
    if not has_service(state):
        return []
    _systemctl("disable", UNIT.name)
    UNIT.unlink()
    _systemctl("daemon-reload")
    return [f"service {UNIT.name}"]


def _systemctl(*words: str) -> bool:
    program = shutil.which("systemctl")
    if program is None or not SYSTEMD.exists():
        return False
    # a fixed program and a fixed unit
    done = subprocess.run([program, *words], capture_output=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
    return done.returncode == 0


# ProtectSystem, ProtectHome and PrivateTmp are left out on purpose: each gives the service a mount namespace of its
# own, in which the container engine would not see the data disks that the agent mounts.
_UNIT_TEMPLATE = """\
[Unit]
Description=Berth host agent
After=network-online.target docker.service
Wants=network-online.target

[Service]
ExecStart={command} run --state-dir {state}
Restart=always
RestartSec=2
KillMode=process
NoNewPrivileges=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
LockPersonality=yes
MemoryMax=256M
OOMScoreAdjust=-500

[Install]
WantedBy=multi-user.target
"""


def unit_text(state: Path) -> str:
    """Return the unit for the installed agent, by the link that upgrades switch if there is one."""
    link = own_prefix() / CURRENT / "bin" / "berth-agent"
    beside = link if link.exists() else Path(sys.executable).with_name("berth-agent")
    command = str(beside) if beside.exists() else f"{sys.executable} -m agents.daemon"
    return _UNIT_TEMPLATE.format(command=command, state=state)
