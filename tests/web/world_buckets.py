"""Object storage for the pictures: connections, syncs that run, ended and failed, schedules, an archive."""

from typing import Any

from common import clock
from common.ids import public_id
from common.object_store import Place
from instances.object_sync.disk_syncs import sync_disk
from instances.object_sync.schedules import SyncRecurrence, add_schedule
from instances.retention.archive import set_archive_default
from storage.clients.s3.client import ProbeResult
from storage.models import Operation, Sync
from storage.object_sync.connections import CheckedConnection, save_connection
from storage.object_sync.syncs import SyncRequest
from tests.web.world import World

Pages = dict[str, tuple[str, str]]
MIB = 1024**2


def bucket_pages(world: World) -> Pages:
    """Name → (who, path)."""
    alice, stopped = world.alice, world.instances["stopped"]
    place = Place("https://s3.eu-central-1.amazonaws.com", "eu-central-1", "alices-experiments", "berth", "AKIAEXAMPLE", "x")
    backups = save_connection(owner=alice, name="backups", tried=CheckedConnection(place, ProbeResult(False, True)))
    public = Place("https://oss-cn-beijing.aliyuncs.com", "cn-beijing", "open-models", "", "LTAIEXAMPLE", "x")
    save_connection(owner=alice, name="开放模型", tried=CheckedConnection(public, ProbeResult(True, False)))
    terms: dict[str, Any] = {"subject_kind": "disk", "subject_id": stopped.pk, "subject_name": stopped.name}
    common: dict[str, Any] = {
        **terms,
        "owner": alice,
        "connection": backups,
        "connection_name": "backups",
        "host": stopped.host,
    }
    over = {"ended_at": clock.now()}
    figures = {"copied_files": 1284, "copied_bytes": 42_000 * MIB, "same_files": 90_331, "deleted_files": 12}
    Sync.objects.create(**common, **over, **figures, direction="up", cause="schedule", state="done", folder="nightly")
    fault = {
        "failure_code": "storage_login_refused",
        "failure_detail": "The object storage does not take the access key any more.",
    }
    Sync.objects.create(**common, **over, **fault, direction="down", state="failed", path="checkpoints/run-17")
    add_schedule(
        owner=alice,
        subject_kind="disk",
        subject_id=stopped.pk,
        connection_id=backups.pk,
        sync_request=SyncRequest("up", "", "nightly", delete_extra=True),
        rhythm=SyncRecurrence(every_hours=24),
    )
    set_archive_default(renter=alice, connection_id=backups.pk)
    running = sync_disk(
        renter=alice, instance_id=stopped.pk, connection_id=backups.pk, sync_request=SyncRequest("up", "models", "models")
    )
    assert running.operation is not None
    progress = {
        "done_bytes": 700 * MIB,
        "total_bytes": 1900 * MIB,
        "done_files": 311,
        "total_files": 902,
        "detail": "Copying.",
    }
    Operation.objects.filter(pk=running.operation.pk).update(**progress)
    inst = public_id("inst", stopped.pk)
    return {
        "buckets": ("alice", "/object-storage"),
        "buckets-empty": ("hana", "/object-storage"),
        "bucket-new": ("alice", "/object-storage/connections/new"),
        "sync-new": ("alice", f"/object-storage/syncs/new?source={inst}"),
        "instance-archive": ("alice", f"/instances/{inst}/disks"),
    }
