"""Systemd unit that `berth-agent install` prints."""

import sys
from pathlib import Path

from agents.daemon.installation.releases import CURRENT, own_prefix

# ProtectSystem, ProtectHome and PrivateTmp are left out on purpose: each gives the service a mount namespace of its
# own, in which the container engine would not see the data disks that the agent mounts.
_UNIT = """\
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
    return _UNIT.format(command=command, state=state)
