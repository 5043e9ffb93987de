"""Access folder of an instance, mounted read-only at /run/berth and rewritten while it runs."""

import hashlib
import json
import os
import re
import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agents.daemon.docker_engine.launch_spec import launch_variables, ssh_variables
from agents.protocol.launch_messages import Launch
from agents.protocol.messages import DesiredInstance

PREEMPT_FILE: Final = "preempt.json"
SSH_FILE: Final = "sshd.conf"  # included by the image's own configuration of sshd
PASSWORD_FILE: Final = "password"  # noqa: S105 (a file's name; the container's own watcher applies its content)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALWAYS: Final = ("authorized_keys", "env")
_OPTIONAL: Final = (PREEMPT_FILE, PASSWORD_FILE, SSH_FILE)
_PRIVATE: Final = ("env", PASSWORD_FILE, SSH_FILE)
_HASH = re.compile(r"\$[0-9a-z]+\$[./0-9A-Za-z$=,]+")


def access_files(desired: DesiredInstance) -> dict[str, str]:
    """Return the folder's files by name; lines that could smuggle in another line are left out."""
    keys = [key.strip() for key in desired.ssh_keys if "\n" not in key.strip() and "\r" not in key]
    launch = desired.launch or Launch()
    environment = {**launch_variables(desired), **launch.secrets} if desired.has_ssh else {}
    variables = {**environment, **desired.env}
    env = [f"{name}={shlex.quote(value)}" for name, value in sorted(variables.items()) if _NAME.fullmatch(name)]
    files = {"authorized_keys": "".join(f"{key}\n" for key in keys), "env": "".join(f"{line}\n" for line in env)}
    if sets := ssh_variables(environment):
        files[SSH_FILE] = sets
    if _HASH.fullmatch(desired.password_hash):
        files[PASSWORD_FILE] = f"{desired.password_hash}\n"
    return files if desired.preempt_at is None else files | {PREEMPT_FILE: preemption_notice(desired.preempt_at)}


def preemption_notice(preempt_at: int) -> str:
    """Return the notice of a preemption, for programs in the container; its file exists while it holds."""
    at = datetime.fromtimestamp(preempt_at, UTC)
    note = {"reason": "spot", "preempt_at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "preempt_at_unix": preempt_at}
    return json.dumps(note) + "\n"


def access_digest(desired: DesiredInstance) -> str:
    return _digest(access_files(desired))


def _digest(files: dict[str, str]) -> str:
    return hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in sorted(files.items())).encode()).hexdigest()


class AccessFolders:
    """Access folders of all instances, below the agent's state folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._digests: dict[str, str] = {}
        root.mkdir(mode=0o711, parents=True, exist_ok=True)

    def write(self, desired: DesiredInstance) -> Path:
        """Bring the folder up to date, and return it.

        Files of an existing folder are replaced atomically, so that sshd never reads half of one; nobody reads a
        new folder yet.
        """
        folder, files = self._root / desired.id, access_files(desired)
        try:
            folder.mkdir(mode=0o755)
        except FileExistsError:
            for name, text in files.items():
                spare = folder / f".{name}"
                _write(spare, text, name)
                spare.replace(folder / name)
            for name in set(_OPTIONAL) - files.keys():
                (folder / name).unlink(missing_ok=True)
        else:
            for name, text in files.items():
                _write(folder / name, text, name)
        self._digests[desired.id] = _digest(files)
        return folder

    def has_current_notice(self, desired: DesiredInstance) -> bool:
        """Return whether the container was told of the present notice; true if there is none."""
        if desired.preempt_at is None:
            return True
        path = self._root / desired.id / PREEMPT_FILE
        return path.exists() and path.read_text() == preemption_notice(desired.preempt_at)

    def digest(self, instance: str) -> str:
        """Return the digest of what is written; "" if nothing is."""
        if instance not in self._digests:
            self._digests[instance] = self._read(instance)
        return self._digests[instance]

    def variables(self, instance: str) -> dict[str, str]:
        """Return the variables that sessions in the instance begin with, the renter's secrets among them."""
        try:
            text = (self._root / instance / "env").read_text()
        except FileNotFoundError:
            return {}
        return {name: value for name, _, value in (word.partition("=") for word in shlex.split(text))}

    def delete(self, instance: str) -> None:
        shutil.rmtree(self._root / instance, ignore_errors=True)
        self._digests.pop(instance, None)

    def leftovers(self, instance: str) -> list[str]:
        return ["access folder"] if (self._root / instance).exists() else []

    def _read(self, instance: str) -> str:
        folder = self._root / instance
        try:
            noted = [name for name in _OPTIONAL if (folder / name).exists()]
            return _digest({name: (folder / name).read_text() for name in (*_ALWAYS, *noted)})
        except FileNotFoundError:
            return ""


def _write(path: Path, text: str, name: str) -> None:
    mode = 0o600 if name in _PRIVATE else 0o644
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        os.fchmod(file.fileno(), mode)  # whatever the umask is
        file.write(text)
