"""Command lines of documentation, read by the command line itself and compared with the API's document; nothing is sent."""

import re
from typing import Any

import click

from berth.cli.framework import Session
from berth.cli.main import berth
from common.http.openapi import schema

_PLACES = {"PORT": "8000"}  # placeholders where a name will not do
_ALWAYS = {"-h", "--help"}


def parse(words: list[str]) -> click.Context:
    """Return the parsed verb. A line that names a verb alone need not say to what; else it is whole.

    Raises:
        click.UsageError: the command line doesn't take it.
    """
    command: click.Command = berth
    context = click.Context(berth, info_name="berth")
    rest = [_PLACES.get(word, word) for word in words]
    while isinstance(command, click.Group) and rest:
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None, f"{name}: there is no such command"
        command, context = found, click.Context(found, parent=context, info_name=name)
    if isinstance(command, click.Group):
        return context
    try:
        return command.make_context(context.info_name, list(rest), parent=context.parent)
    except click.MissingParameter:
        if any(not word.startswith("-") for word in rest):
            raise
        return context
    finally:
        Session()  # what the line has set is forgotten


def check_operation(context: click.Context) -> None:
    """Check that the API has the request of a line `berth api …`, with the fields that the line sends."""
    asked = context.params
    path = asked["path"].removeprefix("/api/v1")
    method = asked["method"].lower()
    [operation] = [
        item[method]
        for pattern, item in schema()["paths"].items()
        if method in item and re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", pattern), f"/api/v1{path}")
    ]
    fields = {text.partition("=")[0] for text in asked["fields"]}
    if fields:
        assert fields <= _fields_of(operation), (path, fields)


def options_of(context: click.Context) -> set[str]:
    return {text for each in context.command.params for text in (*each.opts, *each.secondary_opts)} | _ALWAYS


def all_options() -> set[str]:
    """Return the options of every verb."""
    found: set[str] = set()
    for verb in berth.list_commands(click.Context(berth)):
        context = parse([verb])
        names = context.command.commands if isinstance(context.command, click.Group) else {}
        for each in [context, *(parse([verb, name]) for name in names)]:
            found |= options_of(each)
    return found


def _fields_of(operation: dict[str, Any]) -> set[str]:
    shape = operation["requestBody"]["content"]["application/json"]["schema"]
    return set(schema()["components"]["schemas"][shape["$ref"].rpartition("/")[2]]["properties"])
