"""Prices of a host: by the hour, reserved, tiered and spot, for disks and for GPUs that are kept."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import UNSET, structs

from berth import models as shapes
from berth.cli.framework import command, session
from berth.cli.lookup import find_host
from berth.cli.ordering import PREVIEW, Price
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from berth import models

TERMS: Final = ("day", "week", "month", "year", "year3")
GPU: Final = click.option("--gpu", help="GPU model, if the host has several")


def _discount(term: str) -> "Column[models.OwnOffer]":
    """Return the column of a term's discount."""
    title = {"year3": "3 YEARS"}.get(term, term.upper())
    return Column(title, lambda each: getattr(each.reserved_discounts, term), right=True)


COLUMNS: "Sequence[Column[models.OwnOffer]]" = (
    Column("GPU", lambda each: each.gpu_model),
    Column("LISTED", lambda each: each.listed),
    Column("PER GPU/H", lambda each: each.price_hourly, right=True),
    Column("SPOT FLOOR", lambda each: each.spot_floor, right=True),
    *map(_discount, TERMS),
    Column("TIERS", lambda each: [f"{step.from_hours} h: {step.discount}" for step in each.tiers]),
    Column("DISK GB/DAY", lambda each: each.disk_gb_day, right=True),
    Column("KEPT GPUS", lambda each: each.hold_share, right=True),
)


class Share(click.ParamType[str]):
    """A part of a price: 0.2, or 20%."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        amount = Price().convert(str(value).removesuffix("%"), param, ctx)
        return f"{(amount / 100 if str(value).endswith('%') else amount).normalize():f}"


class _Pair(click.ParamType[tuple[str, str]]):
    """A discount by its term or hours: week=0.1, 720=10%."""

    def __init__(self, name: str) -> None:
        self.name = f"{name}=SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        left, _, right = str(value).partition("=")
        return left, right if right == "none" else Share().convert(right, param, ctx)


class _Term(_Pair):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        term, share = super().convert(value, param, ctx)
        if term not in TERMS:
            self.fail(f"{term!r} isn't a term: {', '.join(TERMS)}.", param, ctx)
        return term, share


class _Tier(_Pair):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        hours, share = super().convert(value, param, ctx)
        if not hours.isascii() or not hours.isdecimal() or share == "none":
            self.fail(f"{value!r} isn't like 720=10%.", param, ctx)
        return hours, share


@command("price")
@click.argument("name")
@click.argument("price", type=Price(), required=False)
@GPU
@click.option("--spot-floor", type=Price(), help="Lowest bid per GPU and hour")
@click.option("--no-spot", is_flag=True, help="Take no bids")
@click.option(
    "--discount", "discounts", multiple=True, type=_Term("TERM"), help="For a reserved term: week=10%; week=none: not sold"
)
@click.option("--tier", "tiers", multiple=True, type=_Tier("HOURS"), help="After so many hours: 720=10%; replaces all tiers")
@click.option("--no-tiers", is_flag=True, help="Remove all tiers")
@click.option("--disk", type=Price(), help="Per GB and day above the free allowance")
@click.option("--hold-share", type=Share(), help="Fee for the GPUs of a stopped instance, of the hourly price: 35%")
@PREVIEW
def price(name: str, gpu: str | None, dry_run: bool, **wanted: Any) -> None:
    """Show a host's prices, or set them for new rentals: `berth host price NAME 0.50 --discount month=20% --spot-floor 0.2`.

    Running instances keep the price that they were rented at.
    """
    values = _values(wanted)
    if not values:
        if dry_run:
            raise click.UsageError("Give a price to change.")
        show_prices(find_host(name))
        return
    change_offers(name, gpu, values, dry_run=dry_run)


def _values(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a change for the options of the command."""
    if wanted["no_spot"] and wanted["spot_floor"] is not None:
        raise click.UsageError("Give either --spot-floor or --no-spot.")
    if wanted["no_tiers"] and wanted["tiers"]:
        raise click.UsageError("Give either --tier or --no-tiers.")
    prices = {"price_hourly": wanted["price"], "spot_floor": wanted["spot_floor"], "disk_gb_day": wanted["disk"]}
    values: dict[str, Any] = {field: f"{amount:f}" for field, amount in prices.items() if amount is not None}
    if wanted["no_spot"]:
        values["spot_floor"] = None
    if wanted["discounts"]:
        terms = {term: None if share == "none" else share for term, share in wanted["discounts"]}
        values["reserved_discounts"] = shapes.ReservedDiscounts(**terms)
    if wanted["tiers"] or wanted["no_tiers"]:
        steps = sorted((int(hours), share) for hours, share in wanted["tiers"])
        values["tiers"] = [shapes.TierDiscount(from_hours=hours, discount=share) for hours, share in steps]
    if wanted["hold_share"] is not None:
        values["hold_share"] = wanted["hold_share"]
    return values


def change_offers(name: str, gpu: str | None, values: dict[str, Any], *, dry_run: bool) -> None:
    """Change the offers of a host, or those with one GPU model, and show its prices.

    Raises:
        UsageError: The host has no such GPUs.
    """
    host = find_host(name)
    offers = [each for each in host.offers if gpu in (None, each.gpu_model)]
    if not offers:
        raise click.UsageError(f"{host.name} has: {', '.join(each.gpu_model for each in host.offers) or 'no GPUs'}.")
    if dry_run:
        _show_changes([row for offer in offers for row in _changes(offer, values)])
        return
    changes = [shapes.ListingChange(id=each.id, **values) for each in offers]
    show_prices(session().client.hosts.listing(host.id, offers=changes))


def show_prices(host: "models.Host") -> None:
    """Print the host's prices as a table, or the host as JSON."""
    out = session().out
    if out.form in ("table", "wide"):
        out.rows(host.offers, COLUMNS, name=lambda each: str(each.gpu_model), empty=f"{host.name} has no GPUs.")
    else:
        out.facts(host, [], name=host.name)


def _changes(offer: "models.OwnOffer", values: dict[str, Any]) -> "Iterator[dict[str, Any]]":
    """Yield what would be different, field by field; the API has no dry run of this change."""
    now, then = _flat(offer, values), _flat(shapes.ListingChange(id=offer.id, **values), values)
    for field, value in then.items():
        if _number(now[field]) != _number(value):
            yield {"gpu": offer.gpu_model, "field": field, "now": now[field], "then": value}


def _flat(prices: "models.OwnOffer | models.ListingChange", values: dict[str, Any]) -> dict[str, Any]:
    found = {field: getattr(prices, field) for field in values if field not in ("reserved_discounts", "tiers")}
    if "tiers" in values:
        found["tiers"] = ", ".join(f"{step.from_hours} h: {step.discount}" for step in prices.tiers or ())
    if "reserved_discounts" in values:
        terms = [term for term, share in structs.asdict(values["reserved_discounts"]).items() if share is not UNSET]
        found |= {f"discount {term}": getattr(prices.reserved_discounts, term) for term in terms}
    return found


def _number(value: Any) -> Any:
    try:
        return Decimal(str(value))
    except ArithmeticError:
        return value


def _show_changes(rows: list[dict[str, Any]]) -> None:
    columns: list[Column[dict[str, Any]]] = [
        Column("GPU", lambda row: row["gpu"]),
        Column("FIELD", lambda row: row["field"]),
        Column("NOW", lambda row: row["now"]),
        Column("THEN", lambda row: row["then"]),
    ]
    session().out.rows(rows, columns, name=lambda row: str(row["field"]), empty="Nothing would change.")
    session().out.note("Nothing was changed.")
