"""Launch settings as a value: checked, merged with those of a template, and compared by a keyed digest."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from django.utils.translation import gettext as _

from common.encryption import derived_key
from common.errors import FieldError, InvalidInput
from common.printable import replace_unprintable
from instances.launch.fields import (
    ENVIRONMENT_BYTES,
    VARIABLES_AT_MOST,
    WORDS_AT_MOST,
    WORDS_BYTES,
    Problems,
    read_arguments,
    read_readiness,
    read_script,
    read_shm,
    read_user,
    read_variables,
    read_workdir,
)

_PURPOSE: Final = "berth-launch-v1"
_WORDS: Final = ("entrypoint", "command", "args")


@dataclass(frozen=True)
class Readiness:
    """Check of whether the program is ready: a GET over HTTP, or a TCP connection.

    An HTTP status of 200 means ready, 204 still starting, any other not ready. During the first `grace_seconds`
    after the start, what doesn't answer is starting.
    """

    type: str
    port: int
    path: str = ""
    grace_seconds: int = 60


@dataclass(frozen=True)
class LaunchSettings:
    """What runs in an instance; an empty value leaves that setting to the image.

    `command` and `args` together are what Docker calls Cmd. `on_start` runs once after each start, as `user`.
    The values of `secrets` are in no text that `repr` returns.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    workdir: str = ""
    user: str = ""
    shm_mb: int | None = None
    on_start: str = ""
    readiness: Readiness | None = None

    def __bool__(self) -> bool:
        """Return whether anything is set."""
        return self != EMPTY

    @property
    def plain(self) -> dict[str, Any]:
        """Return all settings as JSON's types, except the secrets."""
        own = {name: getattr(self, name) for name in SETTING_NAMES if name != "secrets"}
        own["env"] = dict(self.env)
        own |= {name: list(own[name]) for name in _WORDS}
        own["readiness"] = None if self.readiness is None else dict(vars(self.readiness))
        return own

    def public_resource(self) -> dict[str, Any]:
        """Return all settings as JSON's types, with the names of the secrets but not their values."""
        return {**self.plain, "secrets": sorted(self.secrets)}


EMPTY: Final = LaunchSettings()
SETTING_NAMES: Final = tuple(item.name for item in fields(LaunchSettings))


def validate(data: Mapping[str, Any]) -> LaunchSettings:
    """Return the settings in a request, or raise InvalidInput with all that is wrong.

    `command` may be a list of words, or one text, which `/bin/sh -c` runs; `entrypoint` and `args` may be lists, or
    texts that are split as a shell would.
    """
    problems = Problems()
    for name in data:
        if name not in SETTING_NAMES:
            problems.add(replace_unprintable(str(name)[:80]), _("This launch setting doesn't exist."), "unknown")
    readiness = read_readiness(data.get("readiness"), problems)
    settings = LaunchSettings(
        env=read_variables("env", data.get("env"), problems),
        secrets=read_variables("secrets", data.get("secrets"), problems),
        command=read_arguments("command", data.get("command"), problems),
        args=read_arguments("args", data.get("args"), problems),
        entrypoint=read_arguments("entrypoint", data.get("entrypoint"), problems),
        workdir=read_workdir(data.get("workdir"), problems),
        user=read_user(data.get("user"), problems),
        shm_mb=read_shm(data.get("shm_mb"), problems),
        on_start=read_script(data.get("on_start"), problems),
        readiness=None if readiness is None else Readiness(**readiness),
    )
    return _within_limits(settings, problems)


def change(base: LaunchSettings, data: Mapping[str, Any]) -> LaunchSettings:
    """Return the settings with those in a request in their place, or raise InvalidInput.

    What the request leaves out, or has as null, stays as it is. A secret with null as its value keeps that value,
    since nobody can read it again to send it.
    """
    changes = {name: value for name, value in data.items() if value is not None}
    if isinstance(changes.get("secrets"), Mapping):
        stored = base.secrets
        changes["secrets"] = {key: stored.get(key) if text is None else text for key, text in changes["secrets"].items()}
    return validate({**base.plain, "secrets": dict(base.secrets), **changes})


def merge(base: LaunchSettings, override: LaunchSettings) -> LaunchSettings:
    """Return the settings of `base` with those of `override` over them.

    Variables are merged by name, a secret replacing a plain one of that name and the other way round; of all other
    settings, one that `override` has replaces the whole one. A new `command` does not keep the `args` of `base`.
    Raises InvalidInput where both together exceed a limit.
    """
    merged = {name: getattr(override, name) or getattr(base, name) for name in SETTING_NAMES}
    if override.command and not override.args:
        merged["args"] = ()
    merged["env"] = {key: text for key, text in base.env.items() if key not in override.secrets} | dict(override.env)
    merged["secrets"] = {key: text for key, text in base.secrets.items() if key not in override.env} | dict(override.secrets)
    return _within_limits(LaunchSettings(**merged), Problems())


def digest(settings: LaunchSettings) -> str:
    """Return a digest of all settings, by which a quote and its order are compared; "" for none.

    It is keyed, since an unkeyed one would let a short secret be guessed.
    """
    return _keyed({**settings.plain, "secrets": dict(settings.secrets)}) if settings else ""


def secrets_digest(settings: LaunchSettings) -> str:
    """Return a keyed digest of the secrets alone; "" for none."""
    return _keyed({"secrets": dict(settings.secrets)}) if settings.secrets else ""


def _keyed(content: Mapping[str, object]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hmac.digest(derived_key(_PURPOSE, "digest"), text.encode(), hashlib.sha256).hex()


def _within_limits(settings: LaunchSettings, problems: Problems) -> LaunchSettings:
    for name in sorted(settings.env.keys() & settings.secrets.keys()):
        problems.add(f"secrets.{name}", _("This name is already used in env."), "duplicate")
    variables = [*settings.env.items(), *settings.secrets.items()]
    if len(variables) > VARIABLES_AT_MOST:
        detail = _("Use at most %(most)s variables, secrets included.") % {"most": VARIABLES_AT_MOST}
        problems.add("env", detail, "max_length")
    if sum(len(name.encode()) + len(text.encode()) for name, text in variables) > ENVIRONMENT_BYTES:
        detail = _("Use at most %(most)s KiB for all variables combined.") % {"most": ENVIRONMENT_BYTES // 1024}
        problems.add("env", detail, "max_length")
    words = [*settings.entrypoint, *settings.command, *settings.args]
    if len(words) > WORDS_AT_MOST or sum(len(word.encode()) for word in words) > WORDS_BYTES:
        detail = _("Use at most %(count)s arguments and %(most)s KiB in entrypoint, command and args combined.")
        problems.add("command", detail % {"count": WORDS_AT_MOST, "most": WORDS_BYTES // 1024}, "max_length")
    if problems.found:
        raise refusal(problems.found)
    return settings


def refusal(found: list[FieldError]) -> InvalidInput:
    """Return one error for all wrong fields; it names each of them."""
    detail = " ".join(f"{each.field}: {each.detail}" for each in found)
    return InvalidInput(detail, errors=found)
