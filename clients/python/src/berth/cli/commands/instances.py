"""Listing instances and changing their state."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli import launch_options
from berth.cli.framework import Refused, command, session, with_options
from berth.cli.instance_view import COLUMNS, show_instance
from berth.cli.lookup import complete_instance, find_instance
from berth.cli.ordering import DRY_RUN, PREVIEW
from berth.cli.progress import Progress

if TYPE_CHECKING:
    from berth import models

INSTANCE = click.argument("instance", shell_complete=complete_instance)
YES = click.option("--yes", "-y", is_flag=True, help="Don't ask")


def waiting(default: bool = False) -> Callable[[Any], Any]:
    """Return the options of a command that can wait for what it asked for."""

    def add(function: Any) -> Any:
        function = click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds to wait")(function)
        return click.option("--wait/--no-wait", default=default, help="Wait until it has finished", show_default=True)(
            function
        )

    return add


def until(instance: "models.InstanceOut", states: tuple[str, ...], *, timeout: float) -> "models.InstanceOut":
    """Return the instance in one of the states, with progress on stderr."""
    with Progress("waiting", session()) as progress:
        return session().client.wait(instance.id, *states, timeout=timeout, seen=progress.show)


@command("ls")
@click.option("--state", "states", multiple=True, help="Only instances in this state. Default: all that aren't released")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of results")
def ls(states: tuple[str, ...], limit: int | None) -> None:
    """List your instances."""
    from itertools import islice

    found = session().client.instances.list(state=list(states) or UNSET, limit=min(limit or 200, 200))
    empty = 'You have no instances. Rent one: berth rent "4090 price<1"'
    session().out.rows(islice(found, limit), COLUMNS, name=lambda each: str(each.name or each.id), empty=empty)


@command("show")
@INSTANCE
def show(instance: str) -> None:
    """Show an instance."""
    show_instance(find_instance(session().client, instance))


@command("wait")
@INSTANCE
@click.option("--for", "states", multiple=True, default=("running",), show_default=True, help="Stop at any of these states")
@click.option("--timeout", type=float, default=600.0, show_default=True)
def wait(instance: str, states: tuple[str, ...], timeout: float) -> None:
    """Wait until an instance reaches a state. The market wakes the client, so this doesn't poll."""
    show_instance(until(find_instance(session().client, instance), states, timeout=timeout))


@command("start")
@INSTANCE
@click.option("--without-gpu", is_flag=True, help="Half a core and 2 GB on the same host, to copy data cheaply")
@click.option("--max-price", help="Accept a price that has gone up, to at most this per hour")
@click.option("--queue", is_flag=True, help="Join the waitlist if its GPUs are taken")
@DRY_RUN
@waiting(True)
def start(
    *, instance: str, without_gpu: bool, max_price: str | None, queue: bool, dry_run: bool, wait: bool, timeout: float
) -> None:
    """Start a stopped instance."""
    client = session().client
    found = client.instances.start(
        find_instance(client, instance).id,
        mode="cpu" if without_gpu else UNSET,
        max_hourly_rate=max_price or UNSET,
        wait=queue or UNSET,
        dry_run=dry_run,
    )
    show_instance(until(found, ("running",), timeout=timeout) if wait and not dry_run else found)


@command("stop")
@INSTANCE
@click.option("--keep-gpus", is_flag=True, help="Keep its GPUs, for an hourly fee")
@DRY_RUN
@waiting(False)
def stop(instance: str, keep_gpus: bool, dry_run: bool, wait: bool, timeout: float) -> None:
    """Stop an instance. Its disks are kept; its GPUs cost nothing from then on."""
    client = session().client
    found = client.instances.stop(find_instance(client, instance).id, hold=keep_gpus or UNSET, dry_run=dry_run)
    show_instance(until(found, ("stopped",), timeout=timeout) if wait and not dry_run else found)


@click.command("restart", cls=launch_options.WithCommand)
@INSTANCE
@DRY_RUN
@waiting(False)
@with_options(launch_options.options(of_existing=True))
def restart(*, instance: str, dry_run: bool, wait: bool, timeout: float, **wanted: Any) -> None:
    """Restart a running instance; its files are kept.

    Launch settings that you don't pass stay the same: `berth restart NAME -e MODE=fast`.
    """
    client = session().client
    instance_now = find_instance(client, instance)
    settings = launch_options.changes(click.get_current_context(), wanted, instance_now.launch)
    found = client.instances.restart(instance_now.id, **settings, dry_run=dry_run)
    show_instance(until(found, ("running",), timeout=timeout) if wait and not dry_run else found)


@command("rm")
@click.argument("instances", nargs=-1, required=True, shell_complete=complete_instance)
@YES
@PREVIEW
@waiting(False)
def rm(*, instances: tuple[str, ...], yes: bool, dry_run: bool, wait: bool, timeout: float) -> None:
    """Release instances and delete their data for good."""
    here = session()
    found = [find_instance(here.client, each, exact=yes) for each in instances]
    if dry_run:
        _show_what_would_go(found)
        return
    names = ", ".join(f"{each.name or each.id} ({each.state})" for each in found)
    here.confirm(f"Release {names} and delete all data on it?", yes=yes)
    released = [here.client.instances.release(each.id) for each in found]
    if wait:
        released = [until(each, ("gone",), timeout=timeout) for each in released]
        here.out.note("Released: the host has confirmed that nothing is left.")
    here.out.rows(released, COLUMNS, name=lambda each: str(each.name or each.id))


def _show_what_would_go(instances: "list[models.InstanceOut]") -> None:
    """Print the instances that would be released.

    Raises:
        Refused: one of them can't be.
    """
    out = session().out
    for each in instances:
        if "release" not in each.actions:
            why = "protected against release" if each.locked else each.state
            raise Refused(f"{each.name or each.id} can't be released: it is {why}.")
    out.rows(instances, COLUMNS, name=lambda each: str(each.name or each.id))
    disks = sum(each.data_disk_gb for each in instances)
    out.note(f"These would be released, with data disks of {disks} GB in all. Nothing was done.")


@command("rename")
@INSTANCE
@click.argument("name")
@PREVIEW
def rename(instance: str, name: str, dry_run: bool) -> None:
    """Rename an instance."""
    client = session().client
    found = find_instance(client, instance)
    if dry_run:
        session().out.note(f"{found.name or found.id} would be named {name}. Nothing was done.")
        return
    show_instance(client.instances.update(found.id, name=name))
