"""Launching: a template on the cheapest offer that suits it."""

from typing import Any

import click

from berth.cli import launch_options
from berth.cli.commands.rent import order_options, rent_by
from berth.cli.framework import with_options


@click.command("launch", cls=launch_options.WithCommand)
@click.argument("template")
@click.argument("words", nargs=-1)
@click.option("--gpu", help="GPU model, such as 4090")
@with_options(order_options())
def launch(template: str, words: tuple[str, ...], gpu: str | None, **options: Any) -> None:
    """Start a launch template on the cheapest offer that suits it: `berth launch pytorch --gpu 4090 --gpus 2`.

    TEMPLATE is a name of `berth template ls`, tmpl_… or a share link, with @VERSION if you like. WORDS narrow the search
    down, as in `berth search`. Verified hosts come first. Shows the all-in quote, asks, and waits until the instance runs.
    """
    model = ['gpu="{}"'.format(gpu.replace("\\", "\\\\").replace('"', '\\"'))] if gpu else []
    rent_by(what=(*words, *model), template=template, quote_id=None, verified_first=True, **options)
