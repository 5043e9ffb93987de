"""A host is written off in the middle of a move: what lies elsewhere lives on, and nobody waits for the dead."""

from datetime import timedelta

import pytest

from accounts.models import User
from billing.models import Hold
from common import clock
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.start import start_instance
from instances.models import Instance, InstancePort, Move
from instances.transfers.completion import advance_transfers
from instances.transfers.start import clone_instance, migrate_instance
from instances.volumes.transfers import advance_volume_transfers, move_volume_to_host
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.write_offs import write_off_host
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Host, HostWriteOff
from storage.models import Operation, VolumeMove
from storage.operations.services import OperationRow, record_operations
from storage.volumes.volumes import create_volume
from tests.instances.fake_host import FakeHost, again
from tests.instances.transfers.test_transfers import (  # noqa: F401  `other` and `stopped` are fixtures
    arrive,
    copying,
    kinds,
    nothing_is_wrong,
    other,
    stopped,
    there,
)
from tests.instances.volume_world import carry_out

pytestmark = pytest.mark.usefixtures("hours")


def wrote_off(host: FakeHost, staff: User) -> None:
    Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=1))
    write_off_host(staff=staff, host_id=host.host.pk, reason="A test of its death.", now=clock.now())
    settle_write_offs(now=clock.now())


def dies(host: FakeHost, staff: User) -> None:
    wrote_off(host, staff)
    for _ in range(3):  # as its sweeps would
        settle_write_offs(now=clock.now())
        advance_transfers(now=clock.now())
        advance_volume_transfers(now=clock.now())
    assert HostWriteOff.objects.get(pk=host.host.pk).settled_at is not None
    assert not Move.objects.filter(ended_at=None).exists()


def test_the_target_dies_while_it_is_copied_to(
    rin: User,
    stella: User,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    dies(other, stella)
    assert (again(stopped).state, again(stopped).host_id) == ("stopped", stopped.host_id)
    assert not live_leases_of(stopped.pk)
    assert nothing_is_wrong()


def test_the_target_dies_before_it_has_run_there(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    """It still lies where it came from, and is stopped there as it was."""
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    assert (again(stopped).state, again(stopped).host_id) == ("starting", other.host.pk)
    dies(other, stella)
    row = again(stopped)
    assert (row.state, row.host_id, row.failure_code) == ("stopped", host.host.pk, "")
    assert kinds(row)[-1] == "moved_back"
    assert not Hold.objects.filter(source_kind="instance", source_id=row.pk, released_at=None).exists()
    assert nothing_is_wrong()


def test_the_source_dies_after_the_move_has_run(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    other.settle()
    advance_transfers(now=clock.now())
    assert Move.objects.get().state == "clearing"
    dies(host, stella)
    assert Move.objects.get().state == "done"
    assert again(stopped).state == "running"
    assert nothing_is_wrong()


def reported_done(host: FakeHost, kind: str) -> None:
    """Its agent has told so, and nobody has acted on it yet."""
    row = OperationRow(copying(host, kind).pk, "done", outcome={"checksum": "5e" * 32, "bytes": "1000"})
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())


def test_the_target_dies_with_a_copy_that_has_just_arrived(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    """It is not switched to a dead host: the source is still whole."""
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    reported_done(other, "receive_root")
    dies(other, stella)
    apply_results()
    row = again(stopped)
    assert (row.state, row.host_id) == ("stopped", host.host.pk)
    assert not live_leases_of(stopped.pk)
    assert not InstancePort.objects.filter(host=other.host).exists()
    assert nothing_is_wrong()


def test_a_volume_that_has_just_arrived_at_a_dead_host_stays_where_it_is(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
) -> None:
    volume = create_volume(owner=rin, host_id=host.host.pk, name="data", size_gb=20)
    carry_out(host)
    move_volume_to_host(owner=rin, volume_id=volume.pk, host_id=other.host.pk)
    reported_done(other, "receive_volume")
    dies(other, stella)
    volume.refresh_from_db()
    assert (volume.state, volume.host_id) == ("ready", host.host.pk)
    assert VolumeMove.objects.get().state == "failed"
    assert not Operation.objects.filter(ended_at=None).exists(), "nobody is asked to remove the only copy"
    assert nothing_is_wrong()


def test_what_does_not_start_while_its_source_is_dead_stays_with_its_data(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    """There is no way back to a host that was written off, and all of it lies on the new one."""
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    other.sync()
    other.break_next(stopped, "ssh_silent", "SSH did not answer.")
    wrote_off(host, stella)
    other.settle()
    advance_transfers(now=clock.now())
    advance_transfers(now=clock.now())
    row = again(stopped)
    assert (row.state, row.host_id, row.is_released_by_host) == ("failed", other.host.pk, True)
    assert Move.objects.get().state == "done"
    assert not InstancePort.objects.filter(host=host.host).exists()
    start_instance(renter=rin, instance_id=stopped.pk)
    other.settle()
    assert again(stopped).state == "running"
    assert nothing_is_wrong()


def test_both_die_before_it_has_run(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    wrote_off(host, stella)
    dies(other, stella)
    assert again(stopped).state == "gone"
    assert not Hold.objects.filter(released_at=None).exists()
    assert not InstancePort.objects.exists()
    assert nothing_is_wrong()


def test_the_source_of_a_clone_dies_while_it_is_copied(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> None:
    target = clone_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    dies(host, stella)
    assert again(stopped).state == "gone"
    other.settle()
    assert again(target).state == "gone"
    assert not Hold.objects.filter(released_at=None).exists()
    assert nothing_is_wrong()
