"""Any request of the API, for what has no command of its own."""

import json
from typing import Any
from uuid import uuid4

import click

from berth._core.calls import Call
from berth.cli.framework import command, session


@command("api")
@click.argument("method", type=click.Choice(["GET", "POST", "PUT", "PATCH", "DELETE"], case_sensitive=False))
@click.argument("path")
@click.option(
    "--field",
    "-f",
    "fields",
    multiple=True,
    help="NAME=VALUE in the body; VALUE is JSON if it can be, otherwise text",
)
@click.option("--query", "-q", multiple=True, help="NAME=VALUE in the query string")
@click.option("--idempotency-key", help="Only with POST. Default: a new one")
@click.option("--dry-run", is_flag=True, help="Only with POST: check the request without changing anything")
def api(
    *, method: str, path: str, fields: tuple[str, ...], query: tuple[str, ...], idempotency_key: str | None, dry_run: bool
) -> None:
    """Send any API request and print the response: `berth api POST /tokens -f name=ci -f 'scopes=["instances:read"]'`."""
    body = {name: _value(text) for name, text in map(_pair, fields)}
    is_post = method.upper() == "POST"
    call: Call[Any] = Call(
        method.upper(),
        f"/api/v1/{path.removeprefix('/api/v1').lstrip('/')}",
        dict if method.upper() != "DELETE" else bytes,
        query=_repeated(query),
        body=body if fields or method.upper() in ("POST", "PUT", "PATCH") else None,
        key=(idempotency_key or uuid4().hex) if is_post else None,
        dry_run=dry_run,
    )
    answer = session().client.send(call)
    if answer not in (b"", None):
        session().out.json(json.loads(answer) if isinstance(answer, bytes) else answer)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} isn't NAME=VALUE.")
    return name, value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _repeated(pairs: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in map(_pair, pairs):
        found.setdefault(name, []).append(value)
    return found
