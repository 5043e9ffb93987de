"""Renting: the quote first, then the order, then the way to a running instance."""

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec import UNSET

from berth import errors
from berth.cli import launch_options
from berth.cli.commands.market import wanted_offers
from berth.cli.framework import Refused, session, with_options
from berth.cli.instance_view import show_instance
from berth.cli.ordering import KEY, Price, place_once
from berth.cli.ports import ContainerPort, PortType
from berth.cli.progress import Progress
from berth.cli.template_options import find_template, inputs_of, reference, search_line

if TYPE_CHECKING:
    from berth import models

IMAGE = "berth-base"
_OF_AN_ORDER = frozenset(
    {
        *("quote_id", "key", "yes", "dry_run", "wait", "timeout", "max_price", "max_total"),
        *("name", "ssh_keys", "volumes", "ports", "auto_renew"),
    }
)


def order_options() -> list[Callable[[Any], Any]]:
    """Return the options of an order, whatever it starts from."""
    return [
        click.option("--gpus", "gpu_count", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of GPUs"),
        click.option(
            "--input", "inputs", multiple=True, help="Template input: NAME=VALUE, or NAME to read the value as with --secret"
        ),
        click.option("--image", help=f"Slug or img_… Default: the template's, or {IMAGE}"),
        click.option("--disk", "disk_gb", type=click.IntRange(0), help="Data disk in GB. Default: the template's, or none"),
        click.option(
            "--mode", type=click.Choice(["hourly", "reserved", "tiered", "spot"]), default="hourly", show_default=True
        ),
        click.option(
            "--term", type=click.Choice(["day", "week", "month", "year", "year3"]), help="Only with --mode reserved"
        ),
        click.option("--payment", type=click.Choice(["upfront", "none"]), help="Only with --mode reserved"),
        click.option("--bid", type=Price(), help="Only with --mode spot: maximum per GPU and hour"),
        click.option("--hours", type=click.IntRange(1), help="Length of the cost projection in hours"),
        click.option("--max-price", type=Price(), help="Refuse if GPUs and disk together cost more than this per hour"),
        click.option(
            "--max-total",
            type=Price(),
            help="Refuse if the amount due now or the projection is higher",
        ),
        click.option("--name", default="", help="Name of the instance"),
        click.option(
            "--ssh-key", "ssh_keys", multiple=True, help="key_… allowed to log in. Default: all keys of the account"
        ),
        click.option("--volume", "volumes", multiple=True, help="vol_… to mount; must be on the offer's host"),
        click.option(
            "--port", "ports", multiple=True, type=PortType(), help="Additional container port to expose: 8000, 51820/udp"
        ),
        click.option("--auto-renew", is_flag=True, help="Only with --mode reserved: renew at the end of the term"),
        KEY,
        click.option("--yes", "-y", is_flag=True, help="Don't ask"),
        click.option("--dry-run", is_flag=True, help="Show the quote and have the market check the order, without renting"),
        click.option("--wait/--no-wait", default=True, help="Wait until it is running"),
        click.option("--timeout", type=float, default=900.0, show_default=True, help="Seconds to wait"),
        *launch_options.options(),
    ]


@click.command("rent", cls=launch_options.WithCommand)
@click.argument("what", nargs=-1)
@click.option("--template", help="Launch template to start from: name or tmpl_…, optionally with @VERSION")
@click.option("--quote", "quote_id", help="Order this existing quote")
@with_options(order_options())
def rent(**options: Any) -> None:
    """Rent an offer (offr_…), or the cheapest one of a search: `berth rent "4090 verified" --gpus 2 --max-price 3`.

    Shows the all-in quote, asks, and waits until the instance runs. The price can't change between the quote and the order.
    """
    rent_by(**options)


def rent_by(
    *,
    what: tuple[str, ...],
    quote_id: str | None,
    yes: bool,
    dry_run: bool,
    wait: bool,
    timeout: float,
    key: str | None,
    max_price: Decimal | None,
    **wanted: Any,
) -> None:
    """Quote, show, ask, order, wait."""
    here = session()
    if quote_id:
        _check_for_a_quote(click.get_current_context())
    quote = here.client.quotes.get(quote_id) if quote_id else _quote(" ".join(what), wanted)
    _show_quote(quote)
    _check_price(quote, max_price)
    order = _order(quote, wanted)
    if dry_run:
        here.client.instances.create(**order, dry_run=True)
        here.out.note("The order would be accepted. Nothing was rented.")
        if here.out.is_json:
            here.out.json(quote)
        return
    here.confirm(f"Rent it for {quote.hourly_rate} an hour?", yes=yes)
    instance = place_once(
        lambda own: here.client.instances.create(**order, idempotency_key=own),
        key=key,
        again=["rent", *_repeated(order)],
        look="berth ls",
    )
    here.out.note(f"Ordered {instance.id}{' (' + instance.name + ')' if instance.name else ''}.")
    if wait:
        instance = _started(instance, timeout)
    show_instance(instance)


def _check_for_a_quote(ctx: click.Context) -> None:
    """Refuse what a quote has decided already, and what would be left out of its order."""
    passed = [each for each in ctx.command.params if ctx.get_parameter_source(str(each.name)) is ParameterSource.COMMANDLINE]
    beside = [each for each in passed if each.expose_value and each.name not in _OF_AN_ORDER]
    names = [each.opts[0] if isinstance(each, click.Option) else " ".join(ctx.params["what"]) for each in beside]
    names += ["the words after --"] if launch_options.has_words(ctx) else []
    if names:
        raise click.UsageError(f"--quote orders what the quote says. Leave out {', '.join(names)}, or ask without --quote.")


def _started(instance: "models.InstanceOut", timeout: float) -> "models.InstanceOut":
    """Wait until it runs; who stops waiting is told that it goes on, and how to end it."""
    try:
        with Progress("starting", session()) as progress:
            return session().client.wait(instance.id, "running", timeout=timeout, seen=progress.show)
    except (KeyboardInterrupt, errors.WaitTimeout, errors.ConnectionFailed):
        own = instance.id
        session().out.note(f"\n{own} is yours and goes on starting: `berth wait {own}`, or end it with `berth rm {own}`.")
        raise


def _quote(what: str, wanted: dict[str, Any]) -> "models.QuoteOut":
    text = wanted["template"]
    if wanted["inputs"] and not text:
        raise click.UsageError("--input needs a --template.")
    template = find_template(text) if text else None
    inputs = inputs_of(template, wanted["inputs"]) if template else {}
    image = wanted["image"] or (template.version.image if template else IMAGE)
    disk = template.version.data_disk_gb if template and wanted["disk_gb"] is None else wanted["disk_gb"]
    offer = what
    if not what.startswith("offr_"):
        query = search_line(template, what) if template else what
        offer = _first_offer(query, {**wanted, "image": image, "disk_gb": disk})
    options = {
        "gpu_count": wanted["gpu_count"],
        "billing_mode": wanted["mode"],
        "launch_template": reference(template, text) if template else UNSET,
        "inputs": inputs or UNSET,
        "image": _or_unset(wanted["image"] if template else image),
        "data_disk_gb": _or_unset(wanted["disk_gb"]),
        "term": _or_unset(wanted["term"]),
        "payment": _or_unset(wanted["payment"]),
        "max_price": _or_unset(wanted["bid"]),
        "hours": _or_unset(wanted["hours"]),
    }
    settings = launch_options.settings(click.get_current_context(), wanted)
    return session().client.quotes.create(offer=offer, **options, **settings)


def _first_offer(query: str, wanted: dict[str, Any]) -> str:
    """Return the cheapest offer of a search; with `verified_first`, one of a verified host if there is any.

    Raises:
        Refused: nothing matches.
    """
    prefers_verified = bool(wanted.get("verified_first")) and "verified" not in query.lower()
    if not query and not prefers_verified:
        raise click.UsageError('What? Give an offer (offr_…) or a search: berth rent "4090 price<1"')
    choices = {name: wanted[name] for name in ("gpu_count", "mode", "term", "disk_gb", "image")}
    order: dict[str, Any] = {} if "sort=" in query.replace(" ", "") else {"sort": "price"}
    for line in [f"{query} verified".strip(), query] if prefers_verified else [query]:
        found = session().client.offers.list(**wanted_offers(line, **choices), **order, limit=1).first()
        if found.results:
            break
    else:
        raise Refused(f"No offer matches {query!r}; `berth search` says what each condition excludes.", 4)
    offer = found.results[0]
    if prefers_verified and line == query:
        session().out.note("No verified host has a fitting offer: this host isn't verified.")
    session().out.note(
        f"{offer.gpu.model} on {offer.host.name} in {offer.host.region} ({offer.id}), the first of {found.total}"
    )
    return offer.id


def _show_quote(quote: "models.QuoteOut") -> None:
    """Show every line on stderr; they add up to the projection."""
    note = session().out.note
    for line in quote.lines:
        note(f"  {line.item}: {line.quantity} {line.unit} × {line.unit_price} = {line.amount}")
    note(f"  {quote.hourly_rate} per hour in total; {quote.due_now} held now; {quote.projected_total} for {quote.hours} h")


def _check_price(quote: "models.QuoteOut", most: Decimal | None) -> None:
    if most is not None and Decimal(quote.hourly_rate) > most:
        raise Refused(f"It costs {quote.hourly_rate} an hour, more than --max-price {most}.", 6)


def _order(quote: "models.QuoteOut", wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "quote_id": quote.id,
        "signature": quote.signature,
        "name": wanted["name"],
        "auto_renew": wanted["auto_renew"],
        "max_total": _or_unset(wanted["max_total"]),
        "ssh_key_ids": list(wanted["ssh_keys"]) or UNSET,
        "volume_ids": list(wanted["volumes"]) or UNSET,
        "ports": [each.number for each in wanted["ports"] if not each.udp] or UNSET,
        "udp_ports": [each.number for each in wanted["ports"] if each.udp] or UNSET,
    }


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def _repeated(order: dict[str, Any]) -> list[str]:
    """Return the options with which the same order is sent again: the key belongs to this body and no other."""
    udp = [] if order["udp_ports"] is UNSET else [str(ContainerPort(each, udp=True)) for each in order["udp_ports"]]
    lists = {"--ssh-key": "ssh_key_ids", "--volume": "volume_ids", "--port": "ports"}
    words = ["--quote", order["quote_id"]]
    words += [
        word
        for flag, name in lists.items()
        if order[name] is not UNSET
        for each in order[name]
        for word in (flag, str(each))
    ]
    words += [word for each in udp for word in ("--port", each)]
    words += ["--max-total", str(order["max_total"])] if order["max_total"] is not UNSET else []
    words += ["--auto-renew"] if order["auto_renew"] else []
    words += ["--name", order["name"]] if order["name"] else []
    return words
