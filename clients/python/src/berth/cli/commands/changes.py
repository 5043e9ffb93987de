"""Changes of an instance: image, size, host, copies."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli import launch_options
from berth.cli.commands.instances import INSTANCE, YES, until, waiting
from berth.cli.framework import Refused, command, session, with_options
from berth.cli.instance_view import show_instance
from berth.cli.lookup import find_instance
from berth.cli.ordering import DRY_RUN, KEY, Price, place_once
from berth.cli.remote import forget_host_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from berth import models

_MOST = click.option("--max-price", type=Price(), help="Refuse if it costs more than this per hour, disk included")


@click.command("reimage", cls=launch_options.WithCommand)
@INSTANCE
@click.argument("image")
@YES
@DRY_RUN
@with_options(launch_options.options(of_existing=True))
def reimage(*, instance: str, image: str, yes: bool, dry_run: bool, **wanted: Any) -> None:
    """Replace an instance's image. Files outside /data and volumes are deleted. If it fails, the old root is restored.

    Launch settings that you don't pass stay the same: `berth reimage NAME berth-base -e MODE=fast -- python serve.py`.
    """
    client = session().client
    found = find_instance(client, instance, exact=yes)
    settings = launch_options.changes(click.get_current_context(), wanted, found.launch)
    if not dry_run:
        session().confirm(f"Replace {found.image} by {image} on {found.name or found.id}? Files outside /data go.", yes=yes)
    changed = client.instances.reimage(found.id, image=image, **settings, dry_run=dry_run)
    if not dry_run:
        forget_host_keys(found.id)
    show_instance(changed)


@command("resize")
@INSTANCE
@click.option("--gpus", "gpu_count", type=click.IntRange(1), help="Only for a stopped instance; applies from its next start")
@click.option("--disk", "disk_gb", type=click.IntRange(1), help="Data disk in GB; it can only grow")
@YES
@DRY_RUN
def resize(instance: str, gpu_count: int | None, disk_gb: int | None, yes: bool, dry_run: bool) -> None:
    """Change the number of GPUs or the size of the data disk."""
    here = session()
    if gpu_count is None and disk_gb is None:
        raise click.UsageError("Give --gpus or --disk.")
    found = find_instance(here.client, instance)
    size: dict[str, Any] = {"gpu_count": gpu_count or UNSET, "data_disk_gb": disk_gb or UNSET}
    price = here.client.instances.resize_price(found.id, **size)
    here.out.note(f"{price.hourly_rate} per hour and {price.disk_daily} per day for the disk")
    if not dry_run:
        here.confirm(f"Resize {found.name or found.id}?", yes=yes)
    limits: dict[str, Any] = {"max_hourly_rate": price.hourly_rate, "max_disk_daily": price.disk_daily}
    show_instance(here.client.instances.resize(found.id, **size, **limits, dry_run=dry_run))


@click.command("clone", cls=launch_options.WithCommand)
@INSTANCE
@click.option("--offer", help="offr_… Default: the same host")
@click.option("--gpus", "gpu_count", type=click.IntRange(1), help="Default: the current number")
@_MOST
@click.option("--without-data", is_flag=True, help="Don't copy the data disk")
@click.option("--name", default="")
@YES
@DRY_RUN
@KEY
@waiting(False)
@with_options(launch_options.options(of_existing=True))
def clone(instance: str, wait: bool, timeout: float, **wanted: Any) -> None:
    """Rent a copy of an instance, on the same host or another one, for at most the price shown.

    Launch settings that you don't pass are copied from the instance.
    """
    ctx = click.get_current_context()
    found = find_instance(session().client, instance)
    settings = launch_options.changes(ctx, wanted, found.launch)
    disk_gb = 0 if wanted["without_data"] else found.data_disk_gb
    order = _destination(found, wanted, disk_gb=disk_gb)
    order |= {"data_disk": not wanted["without_data"], "name": wanted["name"] or UNSET}
    copy = _ordered(found, order, wanted, verb="clone", settings=settings)
    show_instance(until(copy, ("running",), timeout=timeout) if wait and not wanted["dry_run"] else copy)


@command("migrate")
@INSTANCE
@click.option("--offer", required=True, help="offr_… of another host")
@click.option("--gpus", "gpu_count", type=click.IntRange(1), help="Default: the current number")
@_MOST
@YES
@DRY_RUN
@KEY
@waiting(False)
def migrate(instance: str, wait: bool, timeout: float, **wanted: Any) -> None:
    """Move a stopped instance to another host; the old host keeps its data until it runs on the new one.

    It never costs more than the price shown.
    """
    found = find_instance(session().client, instance)
    order = _destination(found, wanted, disk_gb=found.data_disk_gb)
    moved = _ordered(found, order, wanted, verb="migrate")
    show_instance(until(moved, ("running",), timeout=timeout) if wait and not wanted["dry_run"] else moved)


@command("bid")
@INSTANCE
@click.argument("price", type=Price(), required=False)
@click.option("--withdraw", is_flag=True, help="Stay stopped instead of starting again when the bid wins")
@DRY_RUN
def bid(*, instance: str, price: Decimal | None, withdraw: bool, dry_run: bool) -> None:
    """Change the bid of a spot instance, per GPU and hour: `berth bid NAME 0.50`. Without a price, show it.

    The instance keeps running. Raise the bid in time to keep GPUs that a higher bid is about to take.
    """
    if withdraw and (price is not None or dry_run):
        raise click.UsageError("--withdraw takes neither a price nor --dry-run.")
    client = session().client
    found = find_instance(client, instance)
    if withdraw:
        found = client.instances.bid_withdraw(found.id)
    elif price is not None:
        found = client.instances.bid(found.id, max_price=price, dry_run=dry_run)
    elif found.billing.spot is None:
        raise Refused(f"{found.name or found.id} isn't a spot instance: it is billed {found.billing.mode}.")
    show_instance(found)


def _destination(found: "models.InstanceOut", wanted: dict[str, Any], *, disk_gb: int) -> dict[str, Any]:
    """Return where it goes, for at most what it costs there now; an order that is repeated keeps the price it had.

    Raises:
        Refused: it costs more than --max-price.
        UsageError: an order is repeated without its price.
    """
    to = {"offer": wanted["offer"] or UNSET, "gpu_count": wanted["gpu_count"] or UNSET}
    count, most = wanted["gpu_count"] or found.gpu.count, wanted["max_price"]
    if wanted["key"] is not None:
        if most is None:
            raise click.UsageError("--idempotency-key repeats an order: give the --max-price that it had.")
        return {**to, "max_hourly_rate": str(most)}
    price = session().client.offers.get(wanted["offer"] or found.offer, gpu_count=count, data_disk_gb=disk_gb).total
    if price is None:
        raise Refused("The offer has no price per hour.")
    if most is not None and Decimal(price) > most:
        raise Refused(f"It costs {price} an hour, more than --max-price {most}.", 6)
    return {**to, "max_hourly_rate": price}


def _ordered(
    found: "models.InstanceOut",
    order: dict[str, Any],
    wanted: dict[str, Any],
    *,
    verb: str,
    settings: "Mapping[str, Any] | None" = None,
) -> "models.InstanceOut":
    """Show the price, have the order checked, ask, and place it once; of an order that is repeated, only the last two."""
    here = session()
    send: Callable[..., models.InstanceOut] = getattr(here.client.instances, verb)
    whole = {**order, **(settings or {})}
    if wanted["key"] is None or wanted["dry_run"]:
        checked = send(found.id, **whole, dry_run=True)
        here.out.note(f"There it costs {order['max_hourly_rate']} an hour, its data disk included.")
        if wanted["dry_run"]:
            return checked
    question = "Rent a copy of" if verb == "clone" else "Move"
    here.confirm(f"{question} {found.name or found.id}?", yes=wanted["yes"])
    options, rest = launch_options.repeated(click.get_current_context(), wanted)
    return place_once(
        lambda own: send(found.id, **whole, idempotency_key=own),
        key=wanted["key"],
        again=[verb, found.id, *_repeated(order), *options],
        look="berth ls",
        rest=rest,
    )


def _repeated(order: dict[str, Any]) -> list[str]:
    """Return the options with which the same order is sent again."""
    flags = {"--offer": "offer", "--gpus": "gpu_count", "--max-price": "max_hourly_rate", "--name": "name"}
    flag_values = {flag: order[name] for flag, name in flags.items() if order.get(name, UNSET) is not UNSET}
    words = [word for flag, value in flag_values.items() for word in (flag, str(value))]
    return [*words, *([] if order.get("data_disk", True) else ["--without-data"])]


@command("save-image")
@INSTANCE
@click.argument("name")
@click.option("--description", default="")
@DRY_RUN
def save_image(*, instance: str, name: str, description: str, dry_run: bool) -> None:
    """Save an instance's system disk as an image of your own."""
    client = session().client
    about: dict[str, Any] = {"name": name, "description": description or UNSET}
    image = client.instances.save_image(find_instance(client, instance).id, **about, dry_run=dry_run)
    session().out.facts(image, [("Image", image.slug), ("ID", image.id), ("State", image.state)], name=image.slug)
