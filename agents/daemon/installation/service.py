"""The agent's systemd service, where this machine has one for this very folder. Without systemd there is nothing to do."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

UNIT: Final = Path("/etc/systemd/system/berth-agent.service")
SYSTEMD: Final = Path("/run/systemd/system")  # there while systemd is the first process
TIMEOUT_S: Final = 120


def has_service(state: Path) -> bool:
    """Whether the unit is that of this folder's agent."""
    return UNIT.exists() and f"--state-dir {state}\n" in UNIT.read_text()


def stop_service(state: Path) -> None:
    """Containers go on."""
    if has_service(state):
        _systemctl("stop", UNIT.name)


def start_service(state: Path) -> None:
    """Only one that is enabled: who disabled it wants it so."""
    if has_service(state) and _systemctl("is-enabled", UNIT.name):
        _systemctl("start", UNIT.name)


def restart_service(state: Path) -> None:
    """As what is installed now."""
    if has_service(state):
        _systemctl("restart", UNIT.name)


def drop_service(state: Path) -> list[str]:
    """What was removed."""
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
    # A fixed program and a fixed unit.
    done = subprocess.run([program, *words], capture_output=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
    return done.returncode == 0
