"""Images to rent with: the market's, one's own, and registered ones."""

from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from berth.cli.framework import nouns, session
from berth.cli.lookup import pick
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.ImageOut]]" = (
    Column("IMAGE", lambda image: image.slug),
    Column("TITLE", lambda image: image.title),
    Column("STATE", lambda image: image.state),
    Column("CUDA", lambda image: image.cuda or "-"),
    Column("SIZE", lambda image: f"{image.size_bytes / 1e9:.1f} GB" if image.size_bytes else None, right=True),
    Column("OFFICIAL", lambda image: image.official),
    Column("REFERENCE", lambda image: image.reference, wide=True),
    Column("ID", lambda image: image.id, wide=True),
)


@nouns("image")
def image() -> None:
    """Images to rent with: list, register, remove."""


@image.command("ls")
def ls() -> None:
    """List images; their names are what --image takes."""
    session().out.rows(session().client.images.list(), COLUMNS, name=lambda each: each.slug)


@image.command("add")
@click.argument("name")
@click.option("--title", default="")
def add(name: str, title: str) -> None:
    """Register an image of a registry: `berth image add docker.io/library/debian:bookworm`."""
    made = session().client.images.create(name=name, title=title or UNSET)
    session().out.facts(made, [("Image", made.slug), ("ID", made.id), ("State", made.state)], name=made.slug)


@image.command("rm")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Don't ask")
def rm(name: str, yes: bool) -> None:
    """Remove an image of your own; instances that use it keep it."""
    client = session().client
    own = [each for each in client.images.list() if each.own]
    found = pick(own, name, "image of your own", name=lambda each: str(each.slug), exact=yes)
    session().confirm(f"Remove the image {found.slug}?", yes=yes)
    client.images.remove(found.id)
    session().out.note(f"Removed {found.slug}.")
