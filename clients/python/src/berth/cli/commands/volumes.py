"""Volumes and snapshots."""

from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli.finding import find_instance, pick
from berth.cli.framework import nouns, session
from berth.cli.ordering import KEY, place_once
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
_MOST = click.option("--max-price", help="Refuse above this a day")


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
@click.option("--size", "size_gb", type=click.IntRange(1), help="GB; left out with --snapshot: as large as that")
@click.option("--host", help="host_…; left out with --snapshot: where that lies")
@click.option("--snapshot", help="Filled from this snapshot")
def create(name: str, size_gb: int | None, host: str | None, snapshot: str | None) -> None:
    """Create a volume on a host; `berth volume hosts` lists those with room."""
    source = _snapshot(snapshot).id if snapshot else UNSET
    _show(session().client.volumes.create(name=name, size_gb=size_gb or UNSET, host=host or UNSET, snapshot=source))


@volume.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show a volume."""
    _show(_volume(name))


@volume.command("attach")
@click.argument("name")
@click.argument("instance")
def attach(name: str, instance: str) -> None:
    """Attach a volume to a stopped instance on its host, or have it there at the next start."""
    client = session().client
    _show(client.volumes.attach(_volume(name).id, instance=find_instance(client, instance).id))


@volume.command("detach")
@click.argument("name")
def detach(name: str) -> None:
    """Detach a volume."""
    _show(session().client.volumes.detach(_volume(name).id))


@volume.command("resize")
@click.argument("name")
@click.argument("size_gb", type=click.IntRange(1))
@_MOST
def resize(name: str, size_gb: int, max_price: str | None) -> None:
    """Make a volume larger."""
    _show(session().client.volumes.resize(_volume(name).id, size_gb=size_gb, max_daily_rate=max_price or UNSET))


@volume.command("move")
@click.argument("name")
@click.argument("host")
@_MOST
def move(name: str, host: str, max_price: str | None) -> None:
    """Move a volume to another host."""
    _show(session().client.volumes.move(_volume(name).id, host=host, max_daily_rate=max_price or UNSET))


@volume.command("copy")
@click.argument("name")
@click.argument("host")
@click.argument("new_name")
@_MOST
@KEY
def copy(*, name: str, host: str, new_name: str, max_price: str | None, key: str | None) -> None:
    """Copy a volume to a host."""
    client, source = session().client, _volume(name).id
    order: dict[str, Any] = {"host": host, "name": new_name, "max_daily_rate": max_price or UNSET}
    made = place_once(
        lambda own: client.volumes.copy(source, **order, idempotency_key=own),
        key=key,
        again=["volume", "copy", source, host, new_name, *(["--max-price", max_price] if max_price else [])],
        look="berth volume ls",
        asks=False,
    )
    _show(made)


@volume.command("rm")
@click.argument("name")
@_YES
def rm(name: str, yes: bool) -> None:
    """Delete a volume and its data for good."""
    found = _volume(name, exact=yes)
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
@click.option("--volume", "of_volume", help="Of this volume")
@click.option("--instance", help="Of this instance's data disk")
def snapshot_create(name: str, of_volume: str | None, instance: str | None) -> None:
    """Take a snapshot of a volume or a data disk."""
    if bool(of_volume) == bool(instance):
        raise click.UsageError("Give either --volume or --instance.")
    client = session().client
    disk = _volume(of_volume).id if of_volume else UNSET
    whose = find_instance(client, instance).id if instance else UNSET
    _show_snapshot(client.snapshots.create(name=name, volume=disk, instance=whose))


@snapshot.command("restore")
@click.argument("name")
@_YES
def snapshot_restore(name: str, yes: bool) -> None:
    """Put a snapshot back where it was taken; what is there now is replaced."""
    found = _snapshot(name, exact=yes)
    session().confirm(f"Replace what is on the disk now by {found.name}?", yes=yes)
    _show_snapshot(session().client.snapshots.restore(found.id))


@snapshot.command("rm")
@click.argument("name")
@_YES
def snapshot_rm(name: str, yes: bool) -> None:
    """Delete a snapshot for good."""
    found = _snapshot(name, exact=yes)
    session().confirm(f"Delete the snapshot {found.name}?", yes=yes)
    _show_snapshot(session().client.snapshots.delete(found.id))
