"""What a create asks for, read from its body: image, disk, environment, ports, start script, bid."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, NoReturn

from common.addresses import HIGHEST_PORT
from common.printable import is_printable
from vast.constants import GB_AT_MOST
from vast.errors import InvalidArgs, InvalidPrice
from vast.values import is_amount

_DISK_GB: Final = 10.0
_PRICE_MOST: Final = 1_000_000.0
_TEXT_MOST: Final = 100_000
_LABEL_MOST: Final = 80
_PORT: Final = re.compile(r"(?:[0-9.]*:)?(?:[0-9]{1,5}:)?([0-9]{1,5})(?:/(tcp|udp))?", re.ASCII)
_TEMPLATE: Final = re.compile(r"[0-9a-f]{44}")
_UTF8: Final = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
_ARGS: Final = "args"
_REFUSED: Final = {
    "-v": "Host folders can't be mounted. Link a volume, or use the disk at /data.",
    "-n": "There are no shared networks.",
    "-h": "The host name can't be set.",
}


@dataclass(frozen=True)
class Login:
    """A login for a registry, as `docker login` takes it."""

    host: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Wanted:
    """A create, checked as far as that needs no other data.

    `launch` has launch settings by name, `bid` is in the market's currency per hour for all GPUs together: None for
    an on-demand order, 0 for whatever wins. `replaces_program` is whether the image's own program is not to run.
    """

    image: str
    disk_gb: int
    launch: Mapping[str, Any]
    ports: tuple[int, ...]
    udp_ports: tuple[int, ...]
    label: str
    template: str
    bid: float | None
    login: Login | None
    replaces_program: bool


def read_create(body: object) -> Wanted:
    """Read the body of a create.

    Raises:
        InvalidArgs: something in it can't be read, or is nothing that this market has.
        InvalidPrice: the bid is no amount.
    """
    if not isinstance(body, Mapping):
        raise InvalidArgs("Send an object with image, disk and env.")
    template = read_template_hash(body)
    image = _text(body, "image").strip()
    if not image and not template:
        _refuse("image", "Name an image such as pytorch/pytorch:2.4.0, or a template.")
    env, ports, udp_ports = _env(body.get("env"))
    kind = _text(body, "runtype") or (_ARGS if body.get("args") or body.get("args_str") else "" if template else "ssh")
    _refuse_unsupported(body)
    return Wanted(
        image=image,
        disk_gb=_disk(body.get("disk")),
        launch=_launch(body, env, kind),
        ports=ports,
        udp_ports=udp_ports,
        label=_label(body),
        template=template,
        bid=read_bid(body.get("price")),
        login=_login(_text(body, "image_login")),
        replaces_program=kind not in (_ARGS, ""),
    )


def read_launch(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the launch settings that an update names: env, args and onstart.

    Raises:
        InvalidArgs: one of them can't be read.
    """
    found = _launch(body, _env(body.get("env"))[0], _ARGS if body.get("args") else "ssh")
    return {name: value for name, value in found.items() if value}


def read_bid(value: object) -> float | None:
    """Return a bid per hour for all GPUs together; None: none.

    Raises:
        InvalidPrice: it is no amount.
    """
    if value is None:
        return None
    if not is_amount(value, most=_PRICE_MOST):
        raise InvalidPrice("price: Send dollars per hour for the whole machine, such as 0.35.")
    return float(value)


def read_label(body: Mapping[str, Any]) -> str:
    """Return a label of at most 80 characters; empty: none.

    Raises:
        InvalidArgs: it is longer.
    """
    return _label(body)


def read_volume(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a create says of a volume; None: nothing.

    Raises:
        InvalidArgs: it is no object.
    """
    value = body.get("volume_info")
    if not value:
        return None
    if not isinstance(value, Mapping):
        _refuse("volume_info", "Send an object.")
    return value


def read_template_hash(body: Mapping[str, Any]) -> str:
    """Return the `hash_id` of a template's version; empty: none.

    Raises:
        InvalidArgs: it can't be one.
    """
    template = _text(body, "template_hash_id").lower()
    if template and not _TEMPLATE.fullmatch(template):
        _refuse("template_hash_id", "Take the hash_id of `vastai search templates`.")
    return template


def _launch(body: Mapping[str, Any], env: Mapping[str, str], kind: str) -> dict[str, Any]:
    script = _text(body, "onstart")
    utf8 = _UTF8 if body.get("lang_utf8") or body.get("python_utf8") else {}
    found: dict[str, Any] = {"env": {**utf8, **env}, "user": _text(body, "user")}
    if kind == _ARGS:
        return found | {"entrypoint": script, "args": _args(body)}
    return found | {"on_start": script}


def _args(body: Mapping[str, Any]) -> list[str] | str:
    args = body.get("args")
    if args is None:
        return _text(body, "args_str")
    if isinstance(args, str):
        return args
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        _refuse("args", "Send a list of texts.")
    return args


def _env(source: object) -> tuple[dict[str, str], tuple[int, ...], tuple[int, ...]]:
    """Return the variables, the container ports to publish, and those to publish for UDP."""
    if source is None:
        return {}, (), ()
    pairs = _pairs(source) if isinstance(source, str) else source
    if not isinstance(pairs, Mapping):
        _refuse("env", 'Send an object such as {"NAME": "value", "-p 8080:8080": "1"}.')
    env = {}
    ports: dict[str, list[int]] = {"tcp": [], "udp": []}
    for name, value in pairs.items():
        flag, _, rest = str(name).strip().partition(" ")
        if flag == "-p":
            port, protocol = _port(rest)
            ports[protocol].append(port)
        elif flag in _REFUSED:
            _refuse(f"env {flag}", _REFUSED[flag])
        else:
            env[str(name)] = value if isinstance(value, str) else str(value)
    return env, tuple(dict.fromkeys(ports["tcp"])), tuple(dict.fromkeys(ports["udp"]))


def _pairs(line: str) -> dict[str, str]:
    """Return what a line of docker options means, as clients send it in an object."""
    if len(line) > _TEXT_MOST:
        _refuse("env", "The line is too long. Send an object.")
    try:
        words = shlex.split(line)
    except ValueError:
        _refuse("env", "A quotation mark isn't closed.")
    found: dict[str, str] = {}
    for flag, value in zip(words[::2], [*words[1::2], ""], strict=False):
        if flag == "-e":
            name, _, text = value.partition("=")
            found[name] = text
        elif flag in ("-p", *_REFUSED):
            found[f"{flag} {value}"] = "1"
        else:
            _refuse("env", f"{flag[:20]} isn't supported: use -e and -p.")
    return found


def _port(text: str) -> tuple[int, str]:
    """Return the container port, and `tcp` or `udp`."""
    match = _PORT.fullmatch(text.strip())
    if match is None or not 1 <= int(match[1]) <= HIGHEST_PORT:
        _refuse("env -p", "Name a port of the container, such as -p 8080:8080.")
    return int(match[1]), match[2] or "tcp"


def _login(text: str) -> Login | None:
    """Read `-u NAME -p PASSWORD REGISTRY`; without a registry, Docker Hub."""
    if not text.strip():
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    named: dict[str, str] = {}
    rest: list[str] = []
    ahead = iter(words)
    for word in ahead:
        if word in ("-u", "-p", "--username", "--password"):
            named[word.lstrip("-")[0]] = next(ahead, "")
        else:
            rest.append(word)
    if not named.get("u") or not named.get("p") or len(rest) > 1:
        _refuse("image_login", "Write it as for docker login: -u NAME -p TOKEN registry.example.com.")
    return Login(rest[0] if rest else "docker.io", named["u"], named["p"])


def _disk(value: object) -> int:
    gb = _DISK_GB if value is None else value
    if not is_amount(gb, most=GB_AT_MOST):
        _refuse("disk", f"Send 0 to {GB_AT_MOST} GB.")
    return ceil(gb)


def _label(body: Mapping[str, Any]) -> str:
    label = _text(body, "label").strip()
    if len(label) > _LABEL_MOST or not is_printable(label):
        _refuse("label", f"Use at most {_LABEL_MOST} printable characters.")
    return label


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    if body.get("create_from"):
        _refuse("create_from", "Instances aren't made from others here: use `berth clone`.")
    if _text(body, "extra").strip():
        _refuse("extra", "Options of docker can't be passed on.")


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _TEXT_MOST:
        _refuse(name, f"Send a text of at most {_TEXT_MOST} characters.")
    return value


def _refuse(name: str, detail: str) -> NoReturn:
    raise InvalidArgs(f"{name}: {detail}")
