"""The agent's systemd service, if this machine has one for this folder; otherwise nothing is done."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

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
    """Start the service if it is enabled, since whoever disabled it meant it."""
    if has_service(state) and _systemctl("is-enabled", UNIT.name):
        _systemctl("start", UNIT.name)


def restart_service(state: Path) -> None:
    """Restart the service with the version that is now installed."""
    if has_service(state):
        _systemctl("restart", UNIT.name)


def drop_service(state: Path) -> list[str]:
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
