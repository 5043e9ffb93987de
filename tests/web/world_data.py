"""Volumes, snapshots and public data for the pictures: attached, free, being copied, full, failed."""

from uuid import UUID

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.ids import public_id
from instances.host_reports.operation_results import apply_results
from instances.models import Instance
from instances.volumes.transfers import move_volume_to_host
from instances.web.volumes.transfer_context import hosts_with_room
from storage.models import Operation, Snapshot, Volume
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, record_operations
from storage.volumes.attachments import attach
from storage.volumes.data_sets import publish_snapshot
from storage.volumes.snapshots import snapshot_volume
from storage.volumes.usage import DiskUseRow, record_disk_use
from storage.volumes.volumes import create_volume
from tests.billing.money import UNIT, grant
from tests.web.world import World

Pages = dict[str, tuple[str, str]]

GIB = 1024**3


def data_pages(world: World) -> Pages:
    """Name → (who, path)."""
    stopped = world.instances["stopped"]
    models = add_storage(world, stopped)
    id_, volume = public_id("inst", stopped.pk), public_id("vol", models.pk)
    offer = public_id("offr", stopped.offer_id)
    return {
        "volumes": ("alice", "/volumes"),
        "volumes-empty": ("hana", "/volumes"),
        "volume-new": ("alice", "/volumes/new"),
        "volume-resize": ("alice", f"/volumes/{volume}/resize"),
        "volume-travel": ("alice", f"/volumes/{volume}/travel"),
        "snapshots": ("alice", "/snapshots"),
        "snapshot-new": ("alice", f"/snapshots/new?source={volume}"),
        "public-data": ("alice", "/public-data"),
        "public-data-staff": ("stella", "/public-data"),
        "data-set-new": ("stella", "/public-data/new"),
        "instance-disks": ("alice", f"/instances/{id_}/disks"),
        "rent-volumes": ("alice", f"/offers/{offer}/rent"),
        "market-beside": ("alice", f"/market?mountable_volume={volume}"),
    }


def add_storage(world: World, stopped: Instance) -> Volume:
    alice, host_id = world.alice, stopped.host_id
    models = ready(alice, host_id, "models", 200)
    scratch = ready(alice, host_id, "scratch-of-the-long-training-runs", 50)
    with use_case():
        attach(owner_id=alice.pk, holder=stopped.pk, host_id=host_id, volume_id=scratch.pk)
    carried = ready(alice, host_id, "checkpoints", 80)
    send_somewhere(alice, carried)
    done(snapshot_volume(owner=alice, volume_id=models.pk, name="before the fine-tuning"))
    failed = snapshot_volume(owner=alice, volume_id=scratch.pk, name="too large")
    end(failed.source_id, "failed")
    snapshot_volume(owner=alice, volume_id=models.pk, name="")  # half-way
    Operation.objects.filter(subject=models.pk, ended_at=None).update(
        done_bytes=61 * GIB, total_bytes=140 * GIB, detail="Copying the disk."
    )
    uses = [
        DiskUseRow(models.pk, 143_000, 200_000, 12_345, 13_107_200),
        DiskUseRow(scratch.pk, 21_000, 50_000, 3_100_000, 3_276_800),
        DiskUseRow(stopped.pk, 9_400, 20_000, 210_000, 1_310_720),
    ]
    record_disk_use(host_id=host_id, rows=uses, subjects=[row.id for row in uses], at=clock.now())
    add_public(User.objects.get(email="stella@example.com"), stopped)
    return models


def send_somewhere(alice: User, volume: Volume) -> None:
    """Half-way to another host of its region."""
    place = next(host for host in hosts_with_room(volume) if host.region == volume.host.region)
    move = move_volume_to_host(owner=alice, volume_id=volume.pk, host_id=place.id)
    Operation.objects.filter(subject=move.pk, kind="receive_volume").update(
        state="running", done_bytes=23 * GIB, total_bytes=51 * GIB, detail="Receiving."
    )


def add_public(stella: User, stopped: Instance) -> None:
    grant(stella, 100 * UNIT)
    corpus = ready(stella, stopped.host_id, "corpus", 120)
    snapshot = done(snapshot_volume(owner=stella, volume_id=corpus.pk, name="2026-11"))
    done(snapshot_volume(owner=stella, volume_id=corpus.pk, name="2026-12"))
    publish_snapshot(
        staff=stella,
        snapshot_id=snapshot.pk,
        slug="wiki-2026-11",
        title="Encyclopaedia articles, November 2026",
        description="Plain text of 6.9 million articles, one JSON line each, with tables of links.",
        licence="CC BY-SA 4.0",
    )


def ready(owner: User, host_id: UUID, name: str, size_gb: int) -> Volume:
    volume = create_volume(owner=owner, name=name, size_gb=size_gb, host_id=host_id)
    end(volume.pk, "done")
    return volume


def done(snapshot: Snapshot) -> Snapshot:
    end(snapshot.source_id, "done")
    return snapshot


def end(subject: UUID, phase: str) -> None:
    """The host's agent reports the end of what it does on this disk."""
    operation = Operation.objects.get(subject=subject, ended_at=None)
    assert operation.pk in {order.id for order in desired_operations(operation.host_id)}
    outcome = {"checksum": "3b" * 32, "stored_bytes": str(47 * GIB)} if phase == "done" else {}
    code = "disk_full" if phase == "failed" else ""
    row = OperationRow(operation.pk, phase, failure_code=code, outcome=outcome)
    record_operations(host_id=operation.host_id, rows=[row], at=clock.now())
    apply_results()
