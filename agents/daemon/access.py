"""How renters get in: the folder that a container sees read-only at /run/berth, rewritten while it runs."""

import hashlib
import re
import shlex
import shutil
from pathlib import Path

from agents.protocol.messages import DesiredInstance

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def access_files(desired: DesiredInstance) -> dict[str, str]:
    """The folder's files by name. Lines that could smuggle in a second one are left out."""
    keys = [key.strip() for key in desired.ssh_keys if "\n" not in key.strip() and "\r" not in key]
    env = [f"{name}={shlex.quote(value)}" for name, value in sorted(desired.env.items()) if _NAME.fullmatch(name)]
    return {"authorized_keys": "".join(f"{key}\n" for key in keys), "env": "".join(f"{line}\n" for line in env)}


def access_digest(desired: DesiredInstance) -> str:
    return _digest(access_files(desired))


def _digest(files: dict[str, str]) -> str:
    return hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in sorted(files.items())).encode()).hexdigest()


class AccessFolders:
    """The folders of all instances under the agent's state folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._digests: dict[str, str] = {}
        root.mkdir(mode=0o711, parents=True, exist_ok=True)

    def write(self, desired: DesiredInstance) -> Path:
        """Bring the folder up to date. Each file is replaced whole, so that sshd never reads half of one."""
        folder = self._root / desired.id
        folder.mkdir(mode=0o755, exist_ok=True)
        files = access_files(desired)
        for name, text in files.items():
            spare = folder / f".{name}"
            spare.write_text(text)
            spare.chmod(0o644 if name == "authorized_keys" else 0o600)
            spare.replace(folder / name)
        self._digests[desired.id] = _digest(files)
        return folder

    def digest(self, instance: str) -> str:
        """Of what is written now; "" when there is nothing."""
        if instance not in self._digests:
            self._digests[instance] = self._read(instance)
        return self._digests[instance]

    def drop(self, instance: str) -> None:
        shutil.rmtree(self._root / instance, ignore_errors=True)
        self._digests.pop(instance, None)

    def leftovers(self, instance: str) -> list[str]:
        return ["access folder"] if (self._root / instance).exists() else []

    def _read(self, instance: str) -> str:
        folder = self._root / instance
        try:
            return _digest({name: (folder / name).read_text() for name in ("authorized_keys", "env")})
        except FileNotFoundError:
            return ""
