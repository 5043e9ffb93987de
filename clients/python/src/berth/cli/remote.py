"""OpenSSH's programs with the options of one instance: address, key, and host keys of its own."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from berth.cli.framework import Refused, session
from berth.cli.lookup import find_instance
from berth.cli.profiles import config_folder

if TYPE_CHECKING:
    from berth import models


# What a market may name: anything else could be an option of ssh, or further lines of its configuration.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,252})")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,31}")
_ID = re.compile(r"[A-Za-z0-9_]{1,64}")


@dataclass(frozen=True)
class Remote:
    """A running instance as OpenSSH sees it."""

    instance: "models.InstanceOut"
    host: str
    port: int
    user: str
    key: Path | None

    @property
    def options(self) -> list[str]:
        """Return options for ssh, scp and rsync's ssh; the port is left to each, since scp spells it otherwise.

        Host keys are remembered by instance and host: the next instance at the same address and port has others, rightly,
        and so has this one after a move.
        """
        found = [
            f"HostKeyAlias={self.instance.id}.{self.instance.host.id}",
            "StrictHostKeyChecking=accept-new",
            f"UserKnownHostsFile={_quoted(_known_hosts())}",
        ]
        words = [word for option in found for word in ("-o", option)]
        if self.key is not None:
            words += ["-o", "IdentitiesOnly=yes", "-i", str(self.key)]
        if not session().may_ask():
            words += ["-o", "BatchMode=yes"]
        return [*words, "-o", "ServerAliveInterval=30", "-o", "LogLevel=ERROR"]

    @property
    def target(self) -> str:
        return f"{self.user}@{self.host}"

    def ssh(self, *before: str) -> list[str]:
        return [program("ssh"), *self.options, "-p", str(self.port), *before, self.target]


def _known_hosts() -> Path:
    return config_folder() / "known_hosts"


def forget_host_keys(instance_id: str) -> None:
    """Forget an instance's host keys: a new root makes new ones."""
    path = _known_hosts()
    if path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith(f"{instance_id}.")), encoding="utf-8")


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def program(name: str) -> str:
    """Return the path of a program.

    Raises:
        Refused: it isn't installed.
    """
    found = which(name)
    if found is None:
        raise Refused(
            f"This needs {name}. On Debian and Ubuntu: apt install {'rsync' if name == 'rsync' else 'openssh-client'}.", 1
        )
    return found


def connect(text: str) -> Remote:
    """Return how to reach a running instance.

    Raises:
        Refused: it doesn't run, has no SSH, or its address is none.
    """
    return reach(find_instance(session().client, text))


def reach_if_at_hand(instance: "models.InstanceOut") -> Remote | None:
    """Return how to reach an instance by SSH; None without the program, an address, or a key or an agent with one.

    Raises:
        Refused: it can't be reached at all, as for `reach`.
    """
    if instance.state != "running" or instance.host.runtime == "simulated":
        return reach(instance)
    if which("ssh") is None or instance.access.ssh is None:
        return None
    accepted = _accepted_keys(instance)
    key = _find_key(accepted)
    if key is None and not os.environ.get("SSH_AUTH_SOCK"):
        return None
    return _remote(instance, instance.access.ssh, accepted, key)


def reach(instance: "models.InstanceOut") -> Remote:
    """Return how to reach an instance that was found.

    Raises:
        Refused: as for `connect`.
    """
    name = instance.name or instance.id
    word = shlex.quote(name)
    if instance.host.runtime == "simulated":
        raise Refused(f"{name} is simulated: nothing runs there, so there is nothing to connect to.")
    if instance.state != "running":
        raise Refused(f"{name} is {instance.state}. Start it with `berth start {word}`, or wait with `berth wait {word}`.")
    if instance.access.ssh is None:
        raise Refused(f"{name} has no SSH at the moment.")
    accepted = _accepted_keys(instance)
    return _remote(instance, instance.access.ssh, accepted, _find_key(accepted))


def _remote(instance: "models.InstanceOut", ssh: "models.SshAccess", accepted: list[str], key: Path | None) -> Remote:
    """Return how to reach it with this key; None leaves the key to ssh and its agent."""
    _check_address(instance, ssh)
    if key is None and not accepted:
        session().out.note("No SSH key lets in yet. Add yours: berth ssh-key add ~/.ssh/id_ed25519.pub")
    config_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    return Remote(instance, ssh.host, ssh.port, ssh.user, key)


def _accepted_keys(instance: "models.InstanceOut") -> list[str]:
    return session().client.instances.access(instance.id).ssh_keys


def _check_address(instance: "models.InstanceOut", ssh: "models.SshAccess") -> None:
    ids = (instance.id, instance.host.id)
    if not (
        _HOST.fullmatch(ssh.host)
        and _USER.fullmatch(ssh.user)
        and ssh.port in range(1, 65536)
        and all(map(_ID.fullmatch, ids))
    ):
        raise Refused(f"The market gives an address for SSH that isn't one: {ssh.user!r} at {ssh.host!r}, port {ssh.port}.")


def _find_key(accepted: list[str]) -> Path | None:
    """Return a private key on this machine that the instance accepts, if there is one."""
    bodies = {" ".join(each.split()[:2]) for each in accepted}
    for public in sorted((Path.home() / ".ssh").glob("*.pub")):
        try:
            body = " ".join(public.read_text(encoding="utf-8").split()[:2])
        except (OSError, UnicodeDecodeError):
            continue
        private = public.with_suffix("")
        if body in bodies and private.is_file():
            return private
    return None


def hand_over(line: list[str]) -> int:
    """Run a program in the foreground, and return its exit code; -N of a signal becomes 128 + N, as in a shell."""
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(line[0], line)  # noqa: S606 the system's own ssh, with our arguments
    return run(line)


def run(line: list[str]) -> int:
    code = subprocess.run(line, check=False).returncode  # noqa: S603 the system's own programs, with our arguments
    return code if code >= 0 else 128 - code
