"""Searching the market."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli.framework import command, session
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.PlacedOffer]]" = (
    Column("OFFER", lambda offer: offer.id[:13]),
    Column("GPU", lambda offer: offer.gpu.model),
    Column("FREE", lambda offer: f"{offer.gpu_free}/{offer.gpu_total}", right=True),
    Column("VRAM", lambda offer: f"{offer.gpu.vram_gb} GB", right=True),
    Column("PER GPU/H", lambda offer: offer.price, right=True),
    Column("TOTAL/H", lambda offer: offer.total, right=True),
    Column("REGION", lambda offer: offer.host.region),
    Column("HOST", lambda offer: offer.host.name + (" (simulated)" if offer.host.simulated else "")),
    Column("VERIFIED", lambda offer: offer.host.verified),
    Column("RELIABILITY", lambda offer: offer.reliability, right=True),
    Column("CPU", lambda offer: offer.per_gpu.cpu_cores, right=True),
    Column("RAM", lambda offer: f"{offer.per_gpu.ram_gb:g} GB", right=True),
    Column("CUDA", lambda offer: offer.cuda),
    Column("DISK", lambda offer: offer.disk.kind, wide=True),
    Column("DOWN", lambda offer: offer.network.down_mbps, wide=True, right=True),
    Column("UP", lambda offer: offer.network.up_mbps, wide=True, right=True),
    Column("UNTIL", lambda offer: offer.listed_until, wide=True),
    Column("ID", lambda offer: offer.id, wide=True),
)


@command("search")
@click.argument("query", nargs=-1)
@click.option("--gpus", "gpu_count", type=click.IntRange(1), help="Number of GPUs; total prices are for all of them")
@click.option("--mode", type=click.Choice(["hourly", "reserved", "tiered", "spot"]), help="Billing mode to show prices for")
@click.option(
    "--term",
    type=click.Choice(["day", "week", "month", "year", "year3"]),
    help="Only with --mode reserved",
)
@click.option("--disk", "disk_gb", type=click.IntRange(0), help="Data disk in GB, included in prices")
@click.option("--image", help="Only hosts that can run this image")
@click.option("--sort", help="price, value, reliability, vram, newest or gpu_free; -value for descending")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@click.option("--watch", is_flag=True, help="Refresh every few seconds until Ctrl-C")
def search(query: tuple[str, ...], watch: bool, limit: int, **options: Any) -> None:
    """Search the market: `berth search "4090 verified price<1.5 region in [cn-north,eu-west]"`.

    Conditions are separated by spaces: a GPU's name, flags (verified, not simulated), and fields with operators (price,
    vram, count, region, reliability, cuda, disk_free, net_down …). `berth api GET /search-terms` has all of them.
    """
    wanted = wanted_offers(" ".join(query), **options)
    while True:
        page = session().public_client.offers.list(**wanted, limit=limit).first()
        if watch and sys.stdout.isatty():
            click.clear()
        session().out.rows(page.results, COLUMNS, name=lambda offer: str(offer.id), empty="No offer matches.")
        _explain(page, wanted)
        if not watch:
            return
        sys.stdout.flush()
        time.sleep(5)


def wanted_offers(query: str, **options: Any) -> dict[str, Any]:
    """Return the arguments of `offers.list` for the options of a command."""
    names = {"mode": "billing_mode", "disk_gb": "data_disk_gb"}
    filters = {names.get(name, name): value for name, value in options.items() if value is not None}
    return {"q": query or UNSET, **filters}


def _explain(page: "models.OfferPage", wanted: dict[str, Any]) -> None:
    """Say what is not shown, and why nothing matches."""
    out = session().out
    if out.form not in ("table", "wide"):
        return
    if page.results:
        if page.total > len(page.results):
            out.note(f"{len(page.results)} of {page.total} offers; --limit shows more.")
        return
    facets = session().public_client.offers.facets(**{name: value for name, value in wanted.items() if name != "sort"})
    for each in facets.removed:
        if each.left_without:
            out.note(f"Without {each.filter}: {each.left_without} offers.")
    if page.hidden_by_image:
        out.note(f"{page.hidden_by_image} offers can't run the image.")
