"""Volumes and snapshots."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli.framework import Refused, nouns, session
from berth.cli.lookup import find_instance, pick
from berth.cli.ordering import DRY_RUN, KEY, PREVIEW, Price, place_once
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

VOLUMES: "Sequence[Column[models.VolumeOut]]" = (
    Column("NAME", lambda each: each.name),
    Column("STATE", lambda each: each.state),
    Column("SIZE", lambda each: f"{each.size_gb} GB", right=True),
    Column("ATTACHED TO", lambda each: each.attached_to),
    Column("HOST", lambda each: each.host.name),
    Column("PER DAY", lambda each: each.daily_rate, right=True),
    Column("ID", lambda each: each.id),
)
SNAPSHOTS: "Sequence[Column[models.SnapshotOut]]" = (
    Column("NAME", lambda each: each.name),
    Column("STATE", lambda each: each.state),
    Column("SIZE", lambda each: f"{each.size_gb} GB", right=True),
    Column("HOST", lambda each: each.host.name),
    Column("PER DAY", lambda each: each.daily_rate, right=True),
    Column("CREATED", lambda each: each.created_at),
    Column("ID", lambda each: each.id),
)
_YES = click.option("--yes", "-y", is_flag=True, help="Don't ask")
_MOST = click.option("--max-price", type=Price(), help="Refuse if it costs more than this per day")


def _volume(text: str, *, exact: bool = False) -> "models.VolumeOut":
    return pick(session().client.volumes.list(), text, "volume", name=lambda each: str(each.name), exact=exact)


def _snapshot(text: str, *, exact: bool = False) -> "models.SnapshotOut":
    return pick(session().client.snapshots.list(), text, "snapshot", name=lambda each: str(each.name), exact=exact)


def _show(volume: "models.VolumeOut") -> None:
    facts = [
        ("Volume", volume.name),
        ("ID", volume.id),
        ("State", volume.state),
        ("Size", f"{volume.size_gb} GB"),
        ("Attached to", volume.attached_to),
        ("Path", volume.path),
        ("Host", f"{volume.host.name} in {volume.host.region}"),
        ("Per day", volume.daily_rate),
        ("Failure", volume.failure.detail if volume.failure else None),
    ]
    session().out.facts(volume, facts, name=volume.name)


def _show_snapshot(snapshot: "models.SnapshotOut") -> None:
    facts = [("Snapshot", snapshot.name), ("ID", snapshot.id), ("State", snapshot.state), ("Per day", snapshot.daily_rate)]
    session().out.facts(snapshot, facts, name=snapshot.name)


@nouns("volume")
def volume() -> None:
    """Volumes: disks that outlive instances."""


@volume.command("ls")
def ls() -> None:
    """List volumes."""
    session().out.rows(
        session().client.volumes.list(), VOLUMES, name=lambda each: str(each.name), empty="You have no volumes."
    )


@volume.command("hosts")
def hosts() -> None:
    """List hosts that have room for volumes."""
    columns: list[Column[models.StorageHostOut]] = [
        Column("HOST", lambda each: each.name),
        Column("REGION", lambda each: each.region),
        Column("FREE", lambda each: f"{each.disk_free_gb} GB", right=True),
        Column("PER GB AND DAY", lambda each: each.gb_day, right=True),
        Column("ID", lambda each: each.id),
    ]
    session().out.rows(session().client.storage_hosts.list(), columns, name=lambda each: str(each.id))


@volume.command("create")
@click.argument("name")
@click.option("--size", "size_gb", type=click.IntRange(1), help="Size in GB. Default with --snapshot: the snapshot's")
@click.option("--host", help="host_… Default with --snapshot: the snapshot's host")
@click.option("--snapshot", help="Snapshot to restore into it")
@_MOST
@DRY_RUN
def create(
    name: str, *, size_gb: int | None, host: str | None, snapshot: str | None, max_price: Decimal | None, dry_run: bool
) -> None:
    """Create a volume on a host; `berth volume hosts` lists those with room.

    Shows the price per day. It can't cost more than that, even if the host raises its price meanwhile.
    """
    volumes = session().client.volumes
    source = _snapshot(snapshot).id if snapshot else UNSET
    order: dict[str, Any] = {"name": name, "size_gb": size_gb or UNSET, "host": host or UNSET, "snapshot": source}
    checked = volumes.create(**order, dry_run=True)
    session().out.note(f"{checked.size_gb} GB on {checked.host.name} cost {checked.daily_rate} a day.")
    if max_price is not None and Decimal(checked.daily_rate) > max_price:
        raise Refused(f"It costs {checked.daily_rate} a day, more than --max-price {max_price}.", 6)
    if dry_run:
        session().out.note("It could be created. Nothing was done.")
        _show(checked)
        return
    _show(volumes.create(**order, max_daily_rate=checked.daily_rate))


@volume.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show a volume."""
    _show(_volume(name))


@volume.command("attach")
@click.argument("name")
@click.argument("instance")
@DRY_RUN
def attach(name: str, instance: str, dry_run: bool) -> None:
    """Attach a volume to a stopped instance on the same host; it is mounted at the next start."""
    client = session().client
    _show(client.volumes.attach(_volume(name).id, instance=find_instance(client, instance).id, dry_run=dry_run))


@volume.command("detach")
@click.argument("name")
@DRY_RUN
def detach(name: str, dry_run: bool) -> None:
    """Detach a volume."""
    _show(session().client.volumes.detach(_volume(name).id, dry_run=dry_run))


@volume.command("resize")
@click.argument("name")
@click.argument("size_gb", type=click.IntRange(1))
@_MOST
@DRY_RUN
def resize(*, name: str, size_gb: int, max_price: Decimal | None, dry_run: bool) -> None:
    """Make a volume larger."""
    limit = UNSET if max_price is None else max_price
    grown = session().client.volumes.resize(_volume(name).id, size_gb=size_gb, max_daily_rate=limit, dry_run=dry_run)
    if grown.growth is not None:
        session().out.note(f"{grown.growth.size_gb} GB cost {grown.growth.daily_rate} a day.")
    _show(grown)


@volume.command("move")
@click.argument("name")
@click.argument("host")
@_MOST
@DRY_RUN
def move(*, name: str, host: str, max_price: Decimal | None, dry_run: bool) -> None:
    """Move a volume to another host."""
    limit = UNSET if max_price is None else max_price
    _show(session().client.volumes.move(_volume(name).id, host=host, max_daily_rate=limit, dry_run=dry_run))


@volume.command("copy")
@click.argument("name")
@click.argument("host")
@click.argument("new_name")
@_MOST
@DRY_RUN
@KEY
def copy(*, name: str, host: str, new_name: str, max_price: Decimal | None, dry_run: bool, key: str | None) -> None:
    """Copy a volume to a host."""
    client, source = session().client, _volume(name).id
    order: dict[str, Any] = {"host": host, "name": new_name, "max_daily_rate": UNSET if max_price is None else max_price}
    if dry_run:
        _show(client.volumes.copy(source, **order, dry_run=True))
        return
    limit = [] if max_price is None else ["--max-price", str(max_price)]
    made = place_once(
        lambda own: client.volumes.copy(source, **order, idempotency_key=own),
        key=key,
        again=["volume", "copy", source, host, new_name, *limit],
        look="berth volume ls",
        asks=False,
    )
    _show(made)


@volume.command("rm")
@click.argument("name")
@_YES
@PREVIEW
def rm(name: str, yes: bool, dry_run: bool) -> None:
    """Delete a volume and its data for good."""
    found = _volume(name, exact=yes)
    if dry_run:
        if found.attached_to:
            raise Refused(f"{found.name} is attached to {found.attached_to}. Detach it: berth volume detach {found.name}")
        _show(found)
        session().out.note("It would be deleted, with all data on it. Nothing was done.")
        return
    session().confirm(f"Delete the volume {found.name} ({found.size_gb} GB) and its data?", yes=yes)
    _show(session().client.volumes.delete(found.id))


@nouns("snapshot")
def snapshot() -> None:
    """Snapshots of volumes and data disks."""


@snapshot.command("ls")
def snapshot_ls() -> None:
    """List snapshots."""
    rows = session().client.snapshots.list()
    session().out.rows(rows, SNAPSHOTS, name=lambda each: str(each.name), empty="You have no snapshots.")


@snapshot.command("create")
@click.argument("name")
@click.option("--volume", "of_volume", help="Volume to take it of")
@click.option("--instance", help="Instance whose data disk to take it of")
@DRY_RUN
def snapshot_create(*, name: str, of_volume: str | None, instance: str | None, dry_run: bool) -> None:
    """Take a snapshot of a volume or a data disk."""
    if bool(of_volume) == bool(instance):
        raise click.UsageError("Give either --volume or --instance.")
    client = session().client
    disk = _volume(of_volume).id if of_volume else UNSET
    whose = find_instance(client, instance).id if instance else UNSET
    _show_snapshot(client.snapshots.create(name=name, volume=disk, instance=whose, dry_run=dry_run))


@snapshot.command("restore")
@click.argument("name")
@_YES
@DRY_RUN
def snapshot_restore(name: str, yes: bool, dry_run: bool) -> None:
    """Restore a snapshot to where it was taken, replacing the current contents."""
    found = _snapshot(name, exact=yes)
    if not dry_run:
        session().confirm(f"Replace what is on the disk now by {found.name}?", yes=yes)
    _show_snapshot(session().client.snapshots.restore(found.id, dry_run=dry_run))


@snapshot.command("rm")
@click.argument("name")
@_YES
@PREVIEW
def snapshot_rm(name: str, yes: bool, dry_run: bool) -> None:
    """Delete a snapshot for good."""
    found = _snapshot(name, exact=yes)
    if dry_run:
        _show_snapshot(found)
        session().out.note("It would be deleted. Nothing was done.")
        return
    session().confirm(f"Delete the snapshot {found.name}?", yes=yes)
    _show_snapshot(session().client.snapshots.delete(found.id))
