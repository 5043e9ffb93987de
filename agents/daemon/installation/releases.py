"""Releases of the agent: downloaded from the market, verified, installed next to the running version."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from urllib3.exceptions import HTTPError

from agents.daemon.control_plane.http_client import LinkError, check_answer
from agents.daemon.control_plane.tls import Client
from agents.daemon.lib.atomic_files import write_atomically
from agents.protocol.release import (
    RELEASE_FILE,
    RELEASE_PATH,
    REQUIREMENTS_FILE,
    SIGNATURE_FILE,
    BadRelease,
    Release,
    read_release,
    signed_bytes,
)

SILENCE_S: Final = 60.0
LARGEST_BYTES: Final = 64 * 1024 * 1024
INSTALL_S: Final = 900
CURRENT: Final = "current"
VERSIONS: Final = "versions"
COMPLETE_MARK: Final = ".whole"  # marks a version whose installation was completed


class NotInstalled(Exception):
    """The version could not be installed; the running one is unchanged."""


class NotManaged(Exception):
    """The agent was not installed by the install script, so there is no link to switch."""


class Releases:
    """Release of the market, verified by the key that this host was given."""

    def __init__(self, url: str, public_key: str) -> None:
        self._url = url.rstrip("/")
        self._key = public_key

    def newest(self) -> Release:
        """Return the newest release.

        Raises:
            BadRelease: The release key did not sign it.
            LinkError: The market refused, or could not be reached.
        """
        content = self._fetch(RELEASE_FILE)
        return verify_release(content, self._fetch(SIGNATURE_FILE).decode(errors="replace"), self._key)

    def download(self, release: Release, folder: Path) -> tuple[Path, Path]:
        """Download the wheel and the requirements, as they were signed.

        Raises:
            BadRelease: A file is not what was signed.
            LinkError: The market refused, or could not be reached.
        """
        found = []
        for name, digest in ((release.wheel, release.wheel_sha256), (REQUIREMENTS_FILE, release.requirements_sha256)):
            content = self._fetch(name)
            if hashlib.sha256(content).hexdigest() != digest:
                raise BadRelease(f"{name} is not what the release key signed.")
            write_atomically(folder / name, content)
            found.append(folder / name)
        return found[0], found[1]

    def _fetch(self, name: str) -> bytes:
        path = f"{RELEASE_PATH}/{name}"
        try:
            with closing(Client(SILENCE_S)) as client:
                answer = client.request("GET", f"{self._url}{path}")
        except HTTPError as error:
            raise LinkError(f"{path}: {error or type(error).__name__}") from error
        check_answer(path, answer)
        if len(answer.data) > LARGEST_BYTES:
            raise BadRelease(f"{name} is larger than a release can be.")
        return answer.data


class Versions:
    """Versions installed below one folder, and the link that selects the running one."""

    def __init__(self, prefix: Path) -> None:
        self._link = prefix / CURRENT
        self._folder = prefix / VERSIONS
        if not self._link.is_symlink():
            raise NotManaged(f"{self._link} is no link: this agent was not installed by the market's install script.")

    @property
    def current(self) -> Path:
        return self._link.resolve()

    @property
    def program(self) -> Path:
        """Return the program's path through the link, so that it is always the selected version."""
        return self._link / "bin" / "berth-agent"

    def install(self, release: Release, fetch: Callable[[Path], tuple[Path, Path]]) -> Path:
        """Install the release in a virtual environment of its own, unless it is installed already.

        Raises:
            NotInstalled: The installation failed.
        """
        target = self._folder / f"{release.version}-{release.wheel_sha256[:12]}"
        if not (target / COMPLETE_MARK).exists():
            shutil.rmtree(target, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(target))
            wheel, requirements = fetch(target)
            pip = (str(target / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
            _run(*pip, "--require-hashes", "-r", str(requirements))
            _run(*pip, "--no-deps", "--no-index", str(wheel))
            (target / COMPLETE_MARK).touch()
        version = _run(str(target / "bin" / "berth-agent"), "--version").strip()
        if version != f"berth-agent {release.version}":
            raise NotInstalled(f"What was installed calls itself {version!r}, not version {release.version}.")
        return target

    def switch(self, target: Path) -> None:
        """Select a version, atomically: the link leads to one of the two at any moment."""
        spare = self._link.with_suffix(".new")
        spare.unlink(missing_ok=True)
        spare.symlink_to(target)
        spare.replace(self._link)

    def delete_others(self, *kept: Path) -> None:
        """Delete all versions but these."""
        for folder in self._folder.iterdir():
            if folder.resolve() not in {path.resolve() for path in kept}:
                shutil.rmtree(folder, ignore_errors=True)


def verify_release(content: bytes, signature: str, public_key: str) -> Release:
    """Verify the signature and parse the release.

    Raises:
        BadRelease: The release key did not sign it, or it is malformed.
    """
    try:
        known = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        known.verify(bytes.fromhex(signature.strip()), signed_bytes(content))
    except (InvalidSignature, ValueError) as error:
        raise BadRelease("The release is not signed by the release key that this host was given.") from error
    return read_release(content)


def own_prefix() -> Path:
    """Return where this program is installed: two folders above its virtual environment."""
    return Path(sys.prefix).resolve().parent.parent


def _run(*command: str) -> str:
    # Fixed programs, with paths of our own. PYTHONHOME belongs to the running version.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False, env=own)  # noqa: S603
    if done.returncode != 0:
        raise NotInstalled(f"{' '.join(command[:4])}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout
