"""What an instance is to run: the options of `rent`, `restart`, `reimage`, `clone` and templates for it."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from berth.cli.framework import Command, session
from berth.models.quote_fields import QUOTE_FIELDS

if TYPE_CHECKING:
    from berth import models

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REST = "berth.rest"
_CHECK: Final = re.compile(r"(http|tcp):(\d{1,5})(/[^\s]*)?")
_HIGHEST_PORT: Final = 65_535
# The option of each value, for a line that gives the same order again.
_FLAGS: Final = {
    "on_start": "--on-start",
    "workdir": "--workdir",
    "entrypoint": "--entrypoint",
    "run_as": "--user",
    "shm_mb": "--shm",
    "args": "--args",
    "readiness": "--readiness",
    "grace": "--readiness-grace",
    "env_file": "--env-file",
}


class WithCommand(Command):
    """A command that ends in `-- WORDS`: what the instance is to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_REST] = args[at + 1 :]
            if args[at + 1 :] and "command" not in QUOTE_FIELDS:
                raise click.UsageError("This market doesn't take a command yet.", ctx)
            args = args[:at]
        return super().parse_args(ctx, args)


def has_words(ctx: click.Context) -> bool:
    return bool(ctx.meta.get(_REST))


class _Words(click.ParamType[list[str]]):
    """A line of words, split as a shell splits them."""

    name = "words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        try:
            return shlex.split(str(value))
        except ValueError as error:
            self.fail(f"{value!r}: {error}.", param, ctx)


class _Check(click.ParamType[dict[str, Any]]):
    """A readiness check: http:8000/health, tcp:5432, or none."""

    name = "check"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        if value == "none":
            return {}
        found = _CHECK.fullmatch(str(value))
        if found is None or not 1 <= int(found[2]) <= _HIGHEST_PORT or (found[1] == "tcp" and found[3]):
            self.fail(f"{value!r} isn't a check like http:8000/health or tcp:5432.", param, ctx)
        return {"type": found[1], "port": int(found[2]), **({"path": found[3]} if found[3] else {})}


def options(*, secret_names_only: bool = False, of_existing: bool = False) -> list[Callable[[Any], Any]]:
    """Return the options whose fields the API has; `of_existing` adds those that take a setting back."""
    of_secret = "NAME" if secret_names_only else "NAME to take it from this environment or a prompt, or NAME=VALUE"
    file = click.Path(exists=True, dir_okay=False)
    declared = {
        "env": [
            click.option("-e", "--env", "env", multiple=True, help="NAME=VALUE, or NAME to take it from this environment"),
            click.option("--env-file", type=file, help="File with lines NAME=VALUE"),
        ],
        "secrets": [click.option("--secret", "secrets", multiple=True, help=of_secret)],
        "on_start": [click.option("--on-start", type=file, help="Script to run after each start")],
        "args": [click.option("--args", type=_Words(), help="Arguments to add to the command, as one string: '--epochs 3'")],
        "workdir": [click.option("--workdir", help="Working directory of the command")],
        "entrypoint": [click.option("--entrypoint", help="Overrides the image's entrypoint")],
        "user": [click.option("--user", "run_as", help="User to run as: name, uid or uid:gid")],
        "shm_mb": [click.option("--shm", "shm_mb", type=click.IntRange(1), help="Shared memory in MB")],
        "readiness": [
            click.option("--readiness", type=_Check(), help="Readiness check: http:8000/health, tcp:5432, or none"),
            click.option(
                "--readiness-grace",
                "grace",
                type=click.IntRange(0),
                help="Seconds allowed for startup",
            ),
        ],
    }
    found = [option for field, each in declared.items() if field in QUOTE_FIELDS for option in each]
    if of_existing:
        found.append(click.option("--unset", multiple=True, metavar="NAME", help="Variable or secret to remove"))
    return found


def settings(ctx: click.Context, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the quote that the options and the words after `--` stand for."""
    return _given({**_open_settings(ctx, wanted), "secrets": _secrets(wanted)})


def changes(ctx: click.Context, wanted: dict[str, Any], live: "models.LaunchOut | None") -> dict[str, Any]:
    """Return the fields of a change for the same options.

    The API replaces variables and secrets as a whole; here those that aren't named stay as they are.

    Raises:
        UsageError: what is to be removed isn't there.
    """
    found = settings(ctx, wanted)
    env: dict[str, Any] = dict(live.env) if live else {}
    secrets: dict[str, str | None] = dict.fromkeys(live.secrets if live else ())  # null keeps the value
    removed = set(wanted.get("unset") or ())
    if unknown := sorted(removed - env.keys() - secrets.keys()):
        raise click.UsageError(f"--unset {unknown[0]}: it has no such variable or secret.")
    for field, kept in (("env", env), ("secrets", secrets)):
        if field in found or removed & kept.keys():
            merged = {**kept, **found.get(field, {})}
            found[field] = {name: value for name, value in merged.items() if name not in removed}
    return found


def repeated(ctx: click.Context, wanted: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the options that give the same settings again, and the words after all options; secrets without values."""
    lists = {"-e": wanted.get("env"), "--unset": wanted.get("unset")}
    words = [word for flag, values in lists.items() for each in values or () for word in (flag, each)]
    words += [word for text in wanted.get("secrets") or () for word in ("--secret", pair(text)[0])]
    for name, flag in _FLAGS.items():
        if wanted.get(name) is not None:
            words += [flag, _spelt(wanted[name])]
    rest: Sequence[str] = ctx.meta.get(_REST) or ()
    return words, ["--", *rest] if rest else []


def _spelt(value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(value)
    if isinstance(value, dict):
        return f"{value['type']}:{value['port']}{value.get('path', '')}" if value else "none"
    return str(value)


def _secrets(wanted: dict[str, Any]) -> dict[str, str]:
    return {pair(text)[0]: value_of(text) for text in wanted.get("secrets") or ()}


def template_settings(ctx: click.Context, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the `launch` of a template for the same options; secrets have names alone."""
    for text in wanted.get("secrets") or ():
        if pair(text)[1]:
            raise click.UsageError(f"--secret {pair(text)[0]}: a template keeps the name alone.")
    return _given({**_open_settings(ctx, wanted), "secrets": list(wanted.get("secrets") or ())})


def _open_settings(ctx: click.Context, wanted: dict[str, Any]) -> dict[str, Any]:
    variables = dict(_from_file(wanted.get("env_file"))) | dict(map(_variable, wanted.get("env") or ()))
    return {
        "env": variables,
        "command": ctx.meta.get(_REST),
        "args": wanted.get("args"),
        "on_start": Path(wanted["on_start"]).read_text(encoding="utf-8") if wanted.get("on_start") else None,
        "workdir": wanted.get("workdir"),
        "entrypoint": [wanted["entrypoint"]] if wanted.get("entrypoint") else None,
        "user": wanted.get("run_as"),
        "shm_mb": wanted.get("shm_mb"),
        "readiness": _readiness(wanted),
    }


def _readiness(wanted: dict[str, Any]) -> dict[str, Any] | None:
    check: dict[str, Any] | None = wanted.get("readiness")
    if wanted.get("grace") is None:
        return check
    if not check:
        raise click.UsageError("--readiness-grace goes with a --readiness check.")
    return {**check, "grace_seconds": wanted["grace"]}


def _given(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was given; of empty values only the check, which `none` removes."""
    return {name: value for name, value in found.items() if value or (name == "readiness" and value is not None)}


def pair(text: str) -> tuple[str, str, str]:
    """Split `NAME=VALUE`; raise UsageError for what is no name."""
    name, equals, value = text.partition("=")
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"{name!r} isn't a variable's name.")
    return name, equals, value


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = pair(text)
    if not equals and name not in os.environ:
        raise click.UsageError(f"{name} isn't set here: give --env {name}=VALUE.")
    return name, value if equals else os.environ[name]


def value_of(text: str) -> str:
    """Take a value from the words `NAME=VALUE`, the environment, a question, or a line of standard input."""
    name, equals, value = pair(text)
    if equals:
        return value
    if name in os.environ:
        return os.environ[name]
    if session().may_ask():
        return str(click.prompt(f"Value of {name}", hide_input=True, err=True))
    if session().no_input:
        raise click.UsageError(
            f"{name} has no value: set it in the environment. With --no-input, standard input isn't read."
        )
    line = "" if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not line:
        raise click.UsageError(f"{name} has no value: set it in the environment, or give it on standard input.")
    return line


def _from_file(path: str | None) -> Iterable[tuple[str, str]]:
    """Read lines NAME=VALUE as Docker does: no quotes are taken off, empty lines and comments are left out."""
    for line in Path(path).read_text(encoding="utf-8").splitlines() if path else ():
        if line.strip() and not line.lstrip().startswith("#"):
            yield _variable(line)
