"""The release of the host agent that this market serves, and the command that installs it."""

import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

INSTALL_SCRIPT: Final = Path(settings.BASE_DIR) / "agents" / "install.sh"
INSTALL_PATH: Final = "/agent/v1/install.sh"
RELEASE_FILE: Final = "release.json"


@dataclass(frozen=True)
class ServedRelease:
    """SHA-256 digests of the files that the command names, and the public half of the release key."""

    script_sha256: str
    release_sha256: str
    key: str


def served_release() -> ServedRelease | None:
    """Return the served release, or None where the agent is distributed in another way."""
    if not (settings.AGENT_RELEASE_DIR and settings.AGENT_RELEASE_KEY):
        return None
    release = Path(settings.AGENT_RELEASE_DIR) / RELEASE_FILE
    try:
        return ServedRelease(_digest(INSTALL_SCRIPT), _digest(release), settings.AGENT_RELEASE_KEY)
    except FileNotFoundError:
        return None


def enrol_command(url: str, token: str) -> str:
    """Return the command for the host: installation and enrolment, or enrolment alone.

    Installation needs a served release.
    """
    served = served_release()
    if served is None:
        return f"berth-agent enrol --url {url} --token {token}"
    return (
        f"curl -fsSo berth-install.sh {shlex.quote(url + INSTALL_PATH)}"
        f" && echo '{served.script_sha256}  berth-install.sh' | sha256sum -c --quiet"
        f" && sudo sh berth-install.sh --url {url} --token {token} --release {served.release_sha256}"
        f" --release-key {served.key}"
    )


def release_path(name: str) -> Path | None:
    """Return the path of a file of the release by its name, or None for every other name."""
    if not settings.AGENT_RELEASE_DIR:
        return None
    folder = Path(settings.AGENT_RELEASE_DIR)
    try:
        wheel = json.loads((folder / RELEASE_FILE).read_bytes())["wheel"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    path = folder / name
    return path if name in (RELEASE_FILE, "release.sig", "requirements.txt", wheel) and path.is_file() else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
