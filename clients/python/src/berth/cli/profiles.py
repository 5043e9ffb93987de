"""Markets and tokens: the environment, profiles in a TOML file that only its owner can read, and the keyring on demand."""

import json
import os
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from berth.cli.framework import NotLoggedIn, Refused

DEFAULT = "default"
_KEYRING_SERVICE = "berth"
_KEYRING_S = 3


@dataclass(frozen=True)
class Place:
    """A market, a token for it, and where both come from."""

    url: str
    token: str | None = field(repr=False)
    profile: str
    source: str


@dataclass
class Profiles:
    """The contents of the file."""

    default: str = DEFAULT
    by_name: dict[str, dict[str, Any]] = field(default_factory=dict)


def config_folder() -> Path:
    own = os.environ.get("BERTH_CONFIG_DIR")
    if own:
        return Path(own)
    from platformdirs import user_config_path

    return user_config_path("berth")


def config_file() -> Path:
    return config_folder() / "config.toml"


def read_profiles() -> Profiles:
    """Return the saved profiles; none without a file."""
    import tomllib

    try:
        found = tomllib.loads(config_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Profiles()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{config_file()} can't be read: {error}", 2) from error
    saved = found.get("profile", {})
    if not isinstance(saved, dict) or not all(isinstance(each, dict) for each in saved.values()):
        raise Refused(f"{config_file()} can't be read: a profile is a section [profile.NAME] with url and token.", 2)
    return Profiles(str(found.get("default", DEFAULT)), saved)


def write_profiles(profiles: Profiles) -> Path:
    """Save the profiles in one step, readable for their owner alone."""
    lines = [f"default = {_toml(profiles.default)}"]
    for name, values in sorted(profiles.by_name.items()):
        lines += ["", f"[profile.{_toml(name)}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    draft.replace(path)
    return path


def _toml(value: Any) -> str:
    """Return a text or a truth as TOML: JSON's escapes of two halves, and its bare DEL, aren't."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def find_place(wanted: str = "") -> Place:
    """Return market and token: a profile that was asked for, else the environment, else the default profile.

    A saved token is only sent to the market that it was saved with.

    Raises:
        NotLoggedIn: no market is known, or the profile isn't there.
    """
    named = wanted or os.environ.get("BERTH_PROFILE", "")
    url, token = ("", "") if wanted else (os.environ.get("BERTH_URL", ""), os.environ.get("BERTH_TOKEN", ""))
    if url and token:
        return Place(url.rstrip("/"), token, "", "BERTH_URL and BERTH_TOKEN")
    profiles = read_profiles()
    name = named or profiles.default
    saved = profiles.by_name.get(name)
    if saved is None:
        if url:
            return Place(url.rstrip("/"), token or None, "", "BERTH_URL")
        where = f"There is no profile {name!r}" if named else "No market is known"
        raise NotLoggedIn(f"{where}. Log in with `berth login --url https://…`, or set BERTH_URL and BERTH_TOKEN.")
    address = url.rstrip("/") or str(saved.get("url", ""))
    if token:
        return Place(address, token, name, "BERTH_TOKEN")
    if url and address != saved.get("url"):
        return Place(address, None, "", "BERTH_URL")
    return Place(address, _saved_token(name, saved), name, f"profile {name} in {config_file()}")


def _saved_token(name: str, saved: dict[str, Any]) -> str | None:
    if saved.get("keyring"):
        return keyring_call("get_password", _KEYRING_SERVICE, name)
    token = saved.get("token")
    return str(token) if token else None


def save_place(name: str, url: str, token: str, *, in_keyring: bool) -> str:
    """Save a profile, and return where the token lies."""
    profiles = read_profiles()
    if not profiles.by_name:
        profiles.default = name
    if in_keyring:
        keyring_call("set_password", _KEYRING_SERVICE, name, token)
    profiles.by_name[name] = {"url": url, "keyring": True} if in_keyring else {"url": url, "token": token}
    path = write_profiles(profiles)
    return "the keyring of this machine" if in_keyring else f"{path} (only you can read it)"


def forget_place(name: str) -> bool:
    """Forget a profile's token; return whether there was one."""
    profiles = read_profiles()
    saved = profiles.by_name.pop(name, None)
    if saved is None:
        return False
    if saved.get("keyring"):
        keyring_call("delete_password", _KEYRING_SERVICE, name)
    write_profiles(profiles)
    return True


def keyring_call(name: str, *words: str) -> str | None:
    """Ask the keyring, but not for ever: some of them wait for a window that nobody sees.

    Raises:
        Refused: it isn't installed, doesn't answer within 3 s, or refuses.
    """
    from concurrent.futures import Future
    from threading import Thread

    try:
        keyring = import_module("keyring")
    except ImportError as error:
        raise Refused('The keyring needs the extra package: pipx inject berth "keyring>=25".', 2) from error
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            answer.set_result(getattr(keyring, name)(*words))
        except Exception as error:
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()  # the process doesn't wait for it at its end, as for an executor's
    try:
        found = answer.result(timeout=_KEYRING_S)
    except TimeoutError as error:
        raise Refused("The keyring doesn't answer. Log in without --keyring, or set BERTH_TOKEN.") from error
    except Exception as error:
        raise Refused(f"The keyring refuses: {error}") from error
    return None if found is None else str(found)
