"""API tokens."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from berth.cli.framework import nouns, session
from berth.cli.lookup import pick
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.Token]]" = (
    Column("NAME", lambda token: token.name),
    Column("PREFIX", lambda token: token.prefix),
    Column("SCOPES", lambda token: token.scopes),
    Column("LAST USED", lambda token: token.last_used_at),
    Column("EXPIRES", lambda token: token.expires_at),
    Column("ID", lambda token: token.id),
)


@nouns("token")
def token() -> None:
    """List, create and revoke API tokens. Your own token needs the scope tokens:write."""


@token.command("ls")
def ls() -> None:
    """List tokens."""
    session().out.rows(session().client.tokens.list(), COLUMNS, name=lambda each: str(each.id))


@token.command("create")
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, required=True, help="Such as instances:read; can be repeated")
@click.option("--days", type=click.IntRange(1), help="Days until it expires. Default: never")
def create(name: str, scopes: tuple[str, ...], days: int | None) -> None:
    """Create a token and print it. It is shown only once."""
    expires = datetime.now(UTC) + timedelta(days=days) if days else UNSET
    made = session().client.tokens.create(name=name, scopes=list(scopes), expires_at=expires)
    if session().out.is_json:
        session().out.json(made)
        return
    session().out.note(f"{made.id}; the token is shown this once:")
    session().out.line(made.token)


@token.command("revoke")
@click.argument("which")
def revoke(which: str) -> None:
    """Revoke a token, effective immediately."""
    client = session().client
    found = pick(client.tokens.list(), which, "token", name=lambda each: str(each.name), exact=True)
    client.tokens.revoke(found.id)
    session().out.note(f"Revoked {found.name}.")
