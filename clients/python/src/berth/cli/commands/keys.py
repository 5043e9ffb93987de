"""SSH keys of the account."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from berth.cli.framework import Refused, nouns, session
from berth.cli.lookup import pick
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.Key]]" = (
    Column("NAME", lambda key: key.name),
    Column("KIND", lambda key: key.kind),
    Column("FINGERPRINT", lambda key: key.fingerprint),
    Column("ADDED", lambda key: key.created_at),
    Column("ID", lambda key: key.id),
)


@nouns("ssh-key")
def ssh_key() -> None:
    """List, add and remove SSH keys of your account."""


@ssh_key.command("ls")
def ls() -> None:
    """List keys."""
    session().out.rows(session().client.ssh_keys.list(), COLUMNS, name=lambda key: str(key.id), empty="No SSH keys yet.")


@ssh_key.command("add")
@click.argument("file", required=False)
@click.option("--name", default="", help="Default: the key's comment")
def add(file: str | None, name: str) -> None:
    """Add a public key: a file, - for standard input, or by default ~/.ssh/id_ed25519.pub."""
    path = Path.home() / ".ssh" / "id_ed25519.pub" if file is None else Path(file)
    try:
        text = sys.stdin.read() if file == "-" else path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise Refused(f"There is no {path}. Make a key with: ssh-keygen -t ed25519", 4) from error
    if "PRIVATE KEY" in text:
        raise click.UsageError("That is the private key, which stays with you. Give the file that ends in .pub.")
    key = session().client.ssh_keys.create(public_key=text.strip(), name=name or UNSET)
    session().out.facts(key, [("Key", key.name), ("ID", key.id), ("Fingerprint", key.fingerprint)], name=key.id)


@ssh_key.command("rm")
@click.argument("key")
def rm(key: str) -> None:
    """Remove a key; it no longer allows logins anywhere."""
    client = session().client
    found = pick(client.ssh_keys.list(), key, "SSH key", name=lambda each: str(each.name), exact=True)
    client.ssh_keys.delete(found.id)
    session().out.note(f"Removed {found.name}.")
