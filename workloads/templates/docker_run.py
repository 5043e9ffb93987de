"""Reader of `docker run` lines: what becomes of each option as a template, and a refusal for each that cannot.

Nothing is dropped in silence: an option either becomes part of the template, or is harmless and noted, or is refused.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.addresses import HIGHEST_PORT
from common.errors import FieldError
from common.printable import cut_printable
from workloads.constants import DOCKER_RUN_CHARS
from workloads.errors import DockerOptionRefused

_SIZE: Final = re.compile(r"([0-9]{1,15})([bkmg]?)b?", re.IGNORECASE)
_BYTES: Final = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_MIB: Final = 1024**2
_SHOWN: Final = 120
# The short options, by their long names.
_SHORT: Final = {
    "-e": "--env",
    "-p": "--publish",
    "-P": "--publish-all",
    "-v": "--volume",
    "-w": "--workdir",
    "-u": "--user",
    "-d": "--detach",
    "-i": "--interactive",
    "-t": "--tty",
    "-h": "--hostname",
    "-l": "--label",
    "-m": "--memory",
    "-c": "--cpu-shares",
}
_CLUSTERED: Final = frozenset("dit")  # short options without a value, which may be written as one: -it
_CLUSTER: Final = "-it"
_REFUSED: Final[Mapping[str, Any]] = {
    "--env-file": gettext_lazy("The file is on your computer. Paste its lines as environment variables instead."),
    "--volume": gettext_lazy("Folders of a host can't be mounted. Use a data disk at /data, or a volume when you rent."),
    "--mount": gettext_lazy("Folders of a host can't be mounted. Use a data disk at /data, or a volume when you rent."),
    "--volumes-from": gettext_lazy("Instances share no folders. Use a volume when you rent."),
    "--privileged": gettext_lazy("Instances never get control of their host."),
    "--cap-add": gettext_lazy("Instances never get more rights on their host."),
    "--device": gettext_lazy("Instances get the GPUs that you rent and no other device."),
    "--security-opt": gettext_lazy("The host's protections stay on."),
    "--pid": gettext_lazy("Instances never share the processes of their host."),
    "--network": gettext_lazy("Instances have a network of their own. Publish ports instead."),
    "--net": gettext_lazy("Instances have a network of their own. Publish ports instead."),
    "--publish-all": gettext_lazy("Name each port with -p."),
    "--link": gettext_lazy("Instances have a network of their own."),
}
# Options that change nothing in an instance, and why.
_NOTED: Final[Mapping[str, Any]] = {
    "--detach": gettext_lazy("Instances always run in the background."),
    "--interactive": gettext_lazy("Instances always have a terminal."),
    "--tty": gettext_lazy("Instances always have a terminal."),
    "--rm": gettext_lazy("An instance is deleted when you release it."),
    "--init": gettext_lazy("Instances always have an init process."),
    "--restart": gettext_lazy("A program that ends is started again by its host."),
    "--pull": gettext_lazy("The image is pinned by its digest."),
    "--gpus": gettext_lazy("You choose the number of GPUs when you rent."),
    "--runtime": gettext_lazy("The host chooses the GPU runtime."),
    "--memory": gettext_lazy("The offer sets the memory."),
    "--cpus": gettext_lazy("The offer sets the CPU cores."),
    "--ipc": gettext_lazy("Shared memory is set by its size; without one it is half of the memory."),
    "--ulimit": gettext_lazy("Instances have their host's limits."),
    "--platform": gettext_lazy("Instances run on linux/amd64."),
}
_WITHOUT_VALUE: Final = frozenset({"--detach", "--interactive", "--tty", "--rm", "--init", "--privileged", "--publish-all"})
_TAKEN: Final = frozenset({"--env", "--publish", "--workdir", "--user", "--entrypoint", "--name", "--shm-size", "--expose"})


@dataclass
class DockerRun:
    """What a line says: `content` in the form that a template takes, and notes about what changes nothing."""

    image: str = ""
    name: str = ""
    env: dict[str, str] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    ports: list[dict[str, Any]] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    workdir: str = ""
    user: str = ""
    shm_mb: int | None = None
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of a template, still without its image."""
        launch: dict[str, Any] = {"env": self.env, "entrypoint": self.entrypoint, "command": self.args}
        launch |= {"workdir": self.workdir, "user": self.user, "shm_mb": self.shm_mb}
        return {
            "launch": {name: value for name, value in launch.items() if value},
            "inputs": self.inputs,
            "ports": self.ports,
        }


def parse_docker_run(line: str) -> DockerRun:
    """Return what a `docker run` line, or the name of an image alone, says.

    Raises DockerOptionRefused, which names the option and says why.
    """
    words = _words(line)
    found = DockerRun()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            at -= 1
            break
        at += _take(found, word, words[at] if at < len(words) else None)
    if at >= len(words) or not words[at]:
        _refuse("image", _("The line names no image."))
    found.image, found.args = words[at], words[at + 1 :]
    return found


def _words(line: str) -> list[str]:
    """Return the words after `docker run`, as a shell would split them; a trailing backslash joins lines."""
    if len(line) > DOCKER_RUN_CHARS:
        _refuse("line", _("The line is too long."))
    if "\0" in line:
        _refuse("line", _("The line contains a NUL character."))
    text = line.replace("\\\r\n", " ").replace("\\\n", " ").strip()
    if "\n" in text or "\r" in text:
        _refuse("line", _("Paste one command. Lines may be joined with a backslash at their ends."))
    try:
        words = shlex.split(text)
    except ValueError:
        _refuse("line", _("A quotation mark isn't closed."))
    for first in (["sudo"], ["docker", "podman", "nvidia-docker"], ["container"], ["run"]):
        if words and words[0] in first:
            words = words[1:]
    if words and words[0] in ("create", "exec", "compose", "build", "pull"):
        _refuse(words[0], _("Only docker run is supported."))
    return words


def _take(found: DockerRun, word: str, following: str | None) -> int:
    """Take one option into `found`; return how many words after it belong to it."""
    name, value = _split(word)
    if name == _CLUSTER:
        for letter in word[1:]:
            _note(found, _SHORT[f"-{letter}"])
        return 0
    _check_supported(name)
    if name in _WITHOUT_VALUE:
        if value not in (None, "true"):
            _refuse(name, _("This option takes no value."))
        _note(found, name)
        return 0
    used = 0 if value is not None else 1
    text = following if value is None else value
    if text is None:
        _refuse(name, _("This option needs a value."))
    if name in _NOTED:
        _note(found, name)
    else:
        _SETTERS[name](found, text)
    return used


def _check_supported(name: str) -> None:
    if name in _REFUSED:
        _refuse(name, str(_REFUSED[name]))
    if name not in _TAKEN and name not in _NOTED:
        _refuse(name, _("This option isn't supported. Remove it, or set the same thing in the template."))


def _split(word: str) -> tuple[str, str | None]:
    """Return the long name of an option, and its value if that is written in the same word."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    if len(word) > 2 and set(word[1:]) <= _CLUSTERED:  # noqa: PLR2004  (a sign and one letter)
        return _CLUSTER, None
    short, rest = word[:2], word[2:]
    if short not in _SHORT:
        _refuse(word, _("This option isn't supported. Remove it, or set the same thing in the template."))
    return _SHORT[short], rest.removeprefix("=") if rest else None


def _set_env(found: DockerRun, text: str) -> None:
    name, equals, value = text.partition("=")
    if not name:
        _refuse("--env", _("Name the environment variable."))
    if equals:
        found.env[name] = value
    elif name not in {each["name"] for each in found.inputs}:  # taken from the shell that runs docker: asked of the renter
        found.inputs.append({"name": name, "kind": "text", "required": True})


def _set_port(found: DockerRun, text: str) -> None:
    """Take `8000`, `80:8000`, `127.0.0.1:80:8000` or `8000/udp`; the host's port is chosen by the market."""
    body, _slash, protocol = text.partition("/")
    if protocol not in ("", "tcp", "udp"):
        _refuse("--publish", _("Only TCP and UDP ports can be published."))
    inside = body.rpartition(":")[2]
    if not (inside.isascii() and inside.isdecimal() and len(inside) <= 5 and 1 <= int(inside) <= HIGHEST_PORT):  # noqa: PLR2004
        _refuse("--publish", _("Name one port of the container, such as 8000 or 80:8000."))
    port = int(inside)
    if protocol == "udp":  # published for TCP as well, so the same port's `-p 8000/tcp` adds nothing
        found.ports[:] = [each for each in found.ports if each["port"] != port]
    if port not in {each["port"] for each in found.ports}:
        found.ports.append({"port": port, "protocol": "udp" if protocol == "udp" else "http"})
    if ":" in body:
        found.notes.append((f"-p {cut_printable(text, _SHOWN)}", _("The host's port is chosen when you rent.")))


def _set_shm(found: DockerRun, text: str) -> None:
    match = _SIZE.fullmatch(text)
    if match is None:
        _refuse("--shm-size", _("Enter a size such as 8g."))
    found.shm_mb = max(1, int(match[1]) * _BYTES[match[2].lower()] // _MIB)


def _set_entrypoint(found: DockerRun, text: str) -> None:
    if not text:
        _refuse("--entrypoint", _("Name the program to start."))
    found.entrypoint = [text]


def _setter(name: str) -> Callable[[DockerRun, str], None]:
    return lambda found, text: setattr(found, name, text)


_SETTERS: Final[Mapping[str, Callable[[DockerRun, str], None]]] = {
    "--env": _set_env,
    "--publish": _set_port,
    "--expose": _set_port,
    "--shm-size": _set_shm,
    "--entrypoint": _set_entrypoint,
    "--workdir": _setter("workdir"),
    "--user": _setter("user"),
    "--name": _setter("name"),
}


def _note(found: DockerRun, name: str) -> None:
    found.notes.append((name, str(_NOTED[name])))


def _refuse(option: str, detail: str) -> NoReturn:
    shown = cut_printable(option.partition("=")[0], _SHOWN) or "?"
    raise DockerOptionRefused(f"{shown}: {detail}", errors=[FieldError(shown, "refused", detail)])
