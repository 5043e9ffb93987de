"""A host is written off while it is at work on all that it can be asked for: no order lasts, nothing is charged after."""

import pytest

from accounts.models import User
from billing.models import Hold, Meter
from common import clock
from common.object_store import Place
from config.celery import SWEEPS, app
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.save_image import save_image_of
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import InstancePort
from instances.object_sync.disk_syncs import sync_disk
from instances.volumes.attach import snapshot_disk
from marketplace.hosts.write_offs import write_off_host
from marketplace.models import Host, HostWriteOff, Incident, Lease
from storage.clients.s3.client import ProbeResult
from storage.models import Image, Operation, Snapshot, Sync, Volume
from storage.object_sync.connections import CheckedConnection, save_connection
from storage.object_sync.syncs import SyncRequest, sync_volume
from storage.operations.services import OperationRow, record_operations
from storage.volumes.volumes import create_volume
from tests.billing.money import assert_sound, wallet
from tests.instances.fake_host import FakeHost, order, reload
from tests.instances.fixtures import Clock
from tests.instances.volume_world import carry_out


def turn() -> None:
    """All the market's passes, once, as the worker makes them."""
    app.loader.import_default_modules()
    for name in SWEEPS:
        if name.startswith(("instances.", "storage.", "marketplace.")):
            app.tasks[name]()


@pytest.mark.parametrize("phase", ["waiting", "running", "done"])
def test_whatever_is_under_way_ends(rin: User, stella: User, host: FakeHost, hours: Clock, phase: str) -> None:
    """`done` was reported, and nobody had acted on it when the host died."""
    login = Place("https://s3.example.com", "eu-1", "bucket", "berth", "AKIA", "very-secret")
    bucket = save_connection(
        owner=rin, name="bucket", tried=CheckedConnection(login, ProbeResult(virtual_host=False, can_write=True))
    )
    volume = create_volume(owner=rin, host_id=host.host.pk, name="data", size_gb=20)
    carry_out(host)
    boxes = [order(rin, host, disk=60, name=f"box-{number}") for number in range(4)]
    host.settle()
    stop_instance(renter=rin, instance_id=boxes[0].pk)
    host.settle()
    hours.advance(minutes=1)
    host.settle()
    create_volume(owner=rin, host_id=host.host.pk, name="more", size_gb=20)
    sync_volume(owner=rin, volume_id=volume.pk, connection_id=bucket.pk, sync_request=SyncRequest("up"))
    start_instance(renter=rin, instance_id=boxes[0].pk)
    sync_disk(renter=rin, instance_id=boxes[1].pk, connection_id=bucket.pk, sync_request=SyncRequest("down"))
    snapshot_disk(renter=rin, instance_id=boxes[2].pk)
    save_image_of(renter=rin, instance_id=boxes[2].pk, name="mine")
    restart_instance(renter=rin, instance_id=boxes[3].pk)
    if phase != "waiting":
        outcome = {"checksum": "5e" * 32, "stored_bytes": "1"} if phase == "done" else {}
        rows = [OperationRow(each.pk, phase, outcome=outcome) for each in Operation.objects.filter(ended_at=None)]
        record_operations(host_id=host.host.pk, rows=rows, at=clock.now())
    hours.advance(minutes=20)
    turn()
    write_off_host(staff=stella, host_id=host.host.pk, reason="A test of its death.", now=clock.now())
    turn()
    turn()
    assert HostWriteOff.objects.get().settled_at is not None
    assert Host.objects.get().state == "retired"
    assert {reload(box).state for box in boxes} == {"gone"}
    assert not Operation.objects.filter(concluded_at=None).exists()
    assert not Sync.objects.filter(ended_at=None).exists()
    for kept in (Volume, Snapshot):
        assert not kept.objects.exclude(state="gone").exists()
    assert (
        not Image.objects.filter(state="saving").exists() and not Image.objects.filter(host=host.host, active=True).exists()
    )
    for held in (Hold.objects.filter(released_at=None), Meter.objects.filter(closed_at=None), InstancePort.objects.all()):
        assert not held.exists()
    assert not Lease.objects.filter(released_at=None).exists() and compare_leases() == 0
    balance = wallet(rin).balance_micros
    hours.advance(days=3)
    turn()
    assert wallet(rin).balance_micros == balance
    assert not Incident.objects.filter(kind__contains="stuck").exists()
    assert_sound()
