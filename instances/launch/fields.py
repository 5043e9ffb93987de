"""Readers of single launch settings: each returns the value in its stored form and notes what is wrong."""

import re
import shlex
from collections.abc import Mapping, Sequence
from posixpath import normpath
from typing import Any, Final

from django.utils.translation import gettext as _

from common.errors import FieldError
from common.printable import is_printable

VARIABLES_AT_MOST: Final = 128
VARIABLE_NAME_LENGTH: Final = 255
VARIABLE_BYTES: Final = 32 * 1024
ENVIRONMENT_BYTES: Final = 128 * 1024  # names and values of `env` and `secrets` together
WORDS_AT_MOST: Final = 256
WORD_BYTES: Final = 32 * 1024
WORDS_BYTES: Final = 128 * 1024  # of `entrypoint`, `command` and `args` together
PATH_LENGTH: Final = 1024
SCRIPT_BYTES: Final = 64 * 1024
SHM_MB_MAX: Final = 64 * 1024
PORT_MAX: Final = 65_535
GRACE_S_MAX: Final = 3600
GRACE_S: Final = 60

# The container's own variables. The NVIDIA container toolkit reads some of these on the host, where they could add
# devices, and its hooks inherit the loader's.
RESERVED_PREFIXES: Final = ("BERTH_", "NVIDIA_MIG_", "NVIDIA_REQUIRE_", "NVIDIA_CTK_")
RESERVED_NAMES: Final = frozenset(
    {
        *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_DISABLE_REQUIRE", "NVIDIA_IMEX_CHANNELS"),
        *("NVIDIA_GDS", "NVIDIA_MOFED", "NVIDIA_GDRCOPY", "NVIDIA_NVSWITCH", "LD_PRELOAD", "LD_AUDIT", "JUPYTER_TOKEN"),
    }
)
_SECRET_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}|[0-9]{1,10}(:[0-9]{1,10})?")
_HIGHEST_ID: Final = 2**31 - 1
_HTTP_PATH: Final = re.compile(r"/[!-~]*")
_OF_THE_KERNEL: Final = ("proc", "sys", "dev")
_READINESS: Final = ("type", "port", "path", "grace_seconds")
_SHELL: Final = ("/bin/sh", "-c")


class Problems:
    """Wrong fields that were found so far."""

    def __init__(self) -> None:
        self.found: list[FieldError] = []

    def add(self, field: str, detail: str, code: str = "invalid") -> None:
        self.found.append(FieldError(field, code, detail))


def is_text(value: object) -> bool:
    """Return whether the value is a text that UTF-8 and a process's environment can hold."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def are_own_folders(path: str) -> bool:
    """Return whether a search path names folders of the container's files alone.

    The hooks of the NVIDIA container toolkit inherit LD_LIBRARY_PATH. They run as root of the host, in the container's
    root folder: a relative path, or /proc/self/cwd, would make them load libraries of the image.
    """
    folders = [normpath(folder.replace("//", "/")) for folder in path.split(":")] if path else []
    return all(folder.startswith("/") and folder.split("/")[1] not in _OF_THE_KERNEL for folder in folders)


def read_variables(field: str, value: object, problems: Problems) -> dict[str, str]:
    """Return the variables by name; of those in `secrets`, no error repeats a value."""
    if not value:
        return {}
    if not isinstance(value, Mapping):
        problems.add(field, _("Send an object of names and string values."))
        return {}
    if len(value) > VARIABLES_AT_MOST:
        problems.add(field, _("Use at most %(most)s variables.") % {"most": VARIABLES_AT_MOST}, "max_length")
        return {}
    for name, text in value.items():
        _check_variable(field, name, text, problems)
    return {str(name): text for name, text in sorted(value.items(), key=lambda pair: str(pair[0])) if is_text(text)}


def _check_variable(field: str, name: object, text: object, problems: Problems) -> None:
    if not isinstance(name, str) or not name or "=" in name or not is_text(name) or not is_printable(name):
        problems.add(field, _("A name needs at least one character, and no equals sign, line break or control character."))
        return
    place = f"{field}.{name[:VARIABLE_NAME_LENGTH]}"
    if len(name) > VARIABLE_NAME_LENGTH:
        problems.add(place, _("Use a name of up to %(most)s characters.") % {"most": VARIABLE_NAME_LENGTH}, "max_length")
    elif name in RESERVED_NAMES or name.startswith(RESERVED_PREFIXES):
        problems.add(place, _("Berth sets this variable itself. Use another name."), "reserved")
    elif field == "secrets" and not _SECRET_NAME.fullmatch(name):
        problems.add(place, _("A secret's name has letters, digits and underscores, and doesn't start with a digit."))
    if not is_text(text):
        problems.add(place, _("Send the value as a string without NUL characters."))
    elif name == "LD_LIBRARY_PATH" and isinstance(text, str) and not are_own_folders(text):
        problems.add(place, _("Use absolute paths, separated by colons, outside /proc, /sys and /dev."))
    elif isinstance(text, str) and len(text.encode()) > VARIABLE_BYTES:
        problems.add(place, _("Use a value of up to %(most)s KiB.") % {"most": VARIABLE_BYTES // 1024}, "max_length")


def read_arguments(field: str, value: object, problems: Problems) -> tuple[str, ...]:
    """Return a list of words; a text is split as a shell splits it, except that `command` is run by one.

    Such a command is stored as `/bin/sh -c TEXT sh`, so that the arguments after it are "$@" in it.
    """
    if not value:
        return ()
    if isinstance(value, str):
        value = _split(field, value, problems)
    if not isinstance(value, Sequence):
        problems.add(field, _("Send a list of strings, or a single string."))
        return ()
    if len(value) > WORDS_AT_MOST:
        problems.add(field, _("Use at most %(most)s arguments.") % {"most": WORDS_AT_MOST}, "max_length")
        return ()
    for position, word in enumerate(value):
        _check_word(f"{field}[{position}]", word, problems)
    if field != "args" and value and value[0] == "":
        problems.add(f"{field}[0]", _("Specify the program to start."))
    return tuple(word for word in value if is_text(word))


def _check_word(place: str, word: object, problems: Problems) -> None:
    if not isinstance(word, str) or not is_text(word):
        problems.add(place, _("Send a text without NUL characters."))
    elif len(word.encode()) > WORD_BYTES:
        problems.add(place, _("Use at most %(most)s KiB per argument.") % {"most": WORD_BYTES // 1024}, "max_length")


def _split(field: str, line: str, problems: Problems) -> list[str]:
    line = as_lines(line).strip()
    if not line:
        return []
    if field == "command":
        return [*_SHELL, line, "sh"]
    if len(line) > WORD_BYTES:  # shlex takes the square of a word's length: minutes for a megabyte
        problems.add(
            field, _("Use a line of up to %(most)s KiB, or send a list.") % {"most": WORD_BYTES // 1024}, "max_length"
        )
        return []
    try:
        return shlex.split(line)
    except ValueError:
        problems.add(field, _("A quotation mark isn't closed. Close it, or send a list of strings."))
        return []


def as_lines(text: str) -> str:
    """Return the text with the line ends that shells understand; forms send CRLF."""
    return text.replace("\r\n", "\n")


def read_workdir(value: object, problems: Problems) -> str:
    if not value:
        return ""
    if not isinstance(value, str) or not is_printable(value) or len(value) > PATH_LENGTH or not value.startswith("/"):
        problems.add("workdir", _("Enter an absolute path, such as /workspace."))
        return ""
    return value


def read_user(value: object, problems: Problems) -> str:
    if value is None or value == "":
        return ""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _USER.fullmatch(text) or _too_high(text):
        problems.add("user", _("Enter a user name, a user ID, or a user ID and a group ID such as 1000:1000."))
        return ""
    return text


def _too_high(user: str) -> bool:
    return user[0].isdigit() and any(int(part) > _HIGHEST_ID for part in user.split(":"))


def read_shm(value: object, problems: Problems) -> int | None:
    if value is None or value == "":
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= SHM_MB_MAX:
        problems.add("shm_mb", _("Enter a whole number of MB from 1 to %(most)s.") % {"most": SHM_MB_MAX})
        return None
    return value


def read_script(value: object, problems: Problems) -> str:
    if not value:
        return ""
    if not isinstance(value, str) or not is_text(value):
        problems.add("on_start", _("Send the script as a string without NUL characters."))
        return ""
    script = as_lines(value)
    if len(script.encode()) > SCRIPT_BYTES:
        problems.add("on_start", _("Use a script of up to %(most)s KiB.") % {"most": SCRIPT_BYTES // 1024}, "max_length")
    return script if script.strip() else ""


def read_readiness(value: object, problems: Problems) -> dict[str, Any] | None:
    """Return the check as an object with `type`, `port`, `path` and `grace_seconds`; a path alone means HTTP."""
    if not value:
        return None
    if not isinstance(value, Mapping):
        problems.add("readiness", _("Send an object with type, port, path and grace_seconds."))
        return None
    before = len(problems.found)
    for name in value:
        if name not in _READINESS:
            problems.add("readiness", _("Only type, port, path and grace_seconds are allowed here."), "unknown")
            break
    path = value.get("path") or ""
    kind = value.get("type") or ("http" if path else "tcp")
    grace = GRACE_S if value.get("grace_seconds") is None else value["grace_seconds"]
    if kind not in ("http", "tcp"):
        problems.add("readiness.type", _("Choose http or tcp."))
    _check_number("readiness.port", value.get("port"), (1, PORT_MAX), problems)
    _check_number("readiness.grace_seconds", grace, (0, GRACE_S_MAX), problems)
    _check_path(kind, path, problems)
    if len(problems.found) > before:
        return None
    return {"type": kind, "port": value["port"], "path": (path or "/") if kind == "http" else "", "grace_seconds": grace}


def _check_number(field: str, value: object, bounds: tuple[int, int], problems: Problems) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not bounds[0] <= value <= bounds[1]:
        problems.add(field, _("Enter a whole number from %(least)s to %(most)s.") % {"least": bounds[0], "most": bounds[1]})


def _check_path(kind: object, path: object, problems: Problems) -> None:
    if kind == "tcp" and path:
        problems.add("readiness.path", _("Only HTTP checks have a path."))
    elif path and (not isinstance(path, str) or len(path) > PATH_LENGTH or not _HTTP_PATH.fullmatch(path)):
        problems.add("readiness.path", _("Enter a path that starts with a slash, such as /health, without spaces."))
