"""What an instance is to run: options of `rent`, as far as the market's API has the fields."""

import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from berth.cli.framework import Command, session
from berth.models.quote_fields import QUOTE_FIELDS

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REST = "berth.rest"


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


def options(*, secret_names_only: bool = False) -> list[Callable[[Any], Any]]:
    """Return the options whose fields the API has."""
    of_secret = "NAME" if secret_names_only else "NAME: its value from the environment, else asked for; NAME=VALUE"
    declared = {
        "env": [
            click.option("-e", "--env", "env", multiple=True, help="NAME=VALUE, or NAME: this machine's value"),
            click.option("--env-file", type=click.Path(exists=True, dir_okay=False), help="Lines NAME=VALUE"),
        ],
        "secrets": [click.option("--secret", "secrets", multiple=True, help=of_secret)],
        "on_start": [
            click.option(
                "--on-start", type=click.Path(exists=True, dir_okay=False), help="Script that runs after each start"
            )
        ],
        "workdir": [click.option("--workdir", help="Where the command starts")],
        "entrypoint": [click.option("--entrypoint", help="Instead of the image's")],
        "user": [click.option("--user", "run_as", help="Who runs it: name, uid or uid:gid")],
        "shm_mb": [click.option("--shm", "shm_mb", type=click.IntRange(1), help="Shared memory in MB")],
    }
    return [option for field, found in declared.items() if field in QUOTE_FIELDS for option in found]


def settings(ctx: click.Context, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the quote that the options and the words after `--` stand for."""
    secrets = {pair(text)[0]: value_of(text) for text in wanted.get("secrets") or ()}
    return _without_empty({**_open_settings(ctx, wanted), "secrets": secrets})


def template_settings(ctx: click.Context, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the `launch` of a template for the same options; secrets have names alone."""
    for text in wanted.get("secrets") or ():
        if pair(text)[1]:
            raise click.UsageError(f"--secret {pair(text)[0]}: a template keeps the name alone.")
    return _without_empty({**_open_settings(ctx, wanted), "secrets": list(wanted.get("secrets") or ())})


def _open_settings(ctx: click.Context, wanted: dict[str, Any]) -> dict[str, Any]:
    variables = dict(_from_file(wanted.get("env_file"))) | dict(map(_variable, wanted.get("env") or ()))
    return {
        "env": variables,
        "command": ctx.meta.get(_REST),
        "on_start": Path(wanted["on_start"]).read_text(encoding="utf-8") if wanted.get("on_start") else None,
        "workdir": wanted.get("workdir"),
        "entrypoint": [wanted["entrypoint"]] if wanted.get("entrypoint") else None,
        "user": wanted.get("run_as"),
        "shm_mb": wanted.get("shm_mb"),
    }


def _without_empty(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value}


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
