"""A host is written off in the middle of a move: what lies elsewhere lives on, and nobody waits for the dead."""

from collections.abc import Iterator
from dataclasses import dataclass
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
from tests.instances.fake_host import FakeHost, reload
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


@dataclass(frozen=True)
class Scene:
    """An instance that rests on the source, and another host to move it to."""

    renter: User
    staff: User
    source: FakeHost
    target: FakeHost
    instance: Instance

    @property
    def row(self) -> Instance:
        return reload(self.instance)

    def migrate(self) -> None:
        migrate_instance(renter=self.renter, instance_id=self.instance.pk, to=there(self.target))

    def migrate_and_arrive(self) -> None:
        self.migrate()
        arrive(self.source, self.target)

    def write_off(self, host: FakeHost) -> None:
        Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=1))
        write_off_host(staff=self.staff, host_id=host.host.pk, reason="A test of its death.", now=clock.now())
        settle_write_offs(now=clock.now())

    def lose(self, host: FakeHost) -> None:
        """Write the host off, and let the sweeps run until nothing is left to do."""
        self.write_off(host)
        for _ in range(3):
            settle_write_offs(now=clock.now())
            advance_transfers(now=clock.now())
            advance_volume_transfers(now=clock.now())
        assert HostWriteOff.objects.get(pk=host.host.pk).settled_at is not None
        assert not Move.objects.filter(ended_at=None).exists()


@pytest.fixture
def scene(
    rin: User,
    stella: User,
    host: FakeHost,
    other: FakeHost,  # noqa: F811
    stopped: Instance,  # noqa: F811
) -> Iterator[Scene]:
    """After each test the ledger, the leases and the states agree."""
    yield Scene(rin, stella, host, other, stopped)
    assert nothing_is_wrong()


def report_done(host: FakeHost, kind: str) -> None:
    """Its agent has reported so, and nobody has acted on it yet."""
    row = OperationRow(copying(host, kind).pk, "done", outcome={"checksum": "5e" * 32, "bytes": "1000"})
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())


def test_the_target_dies_while_it_is_copied_to(scene: Scene) -> None:
    scene.migrate()
    scene.lose(scene.target)
    assert (scene.row.state, scene.row.host_id) == ("stopped", scene.source.host.pk)
    assert not live_leases_of(scene.instance.pk)


def test_the_target_dies_before_it_has_run_there(scene: Scene) -> None:
    """It still lies where it came from, and is stopped there as it was."""
    scene.migrate_and_arrive()
    assert (scene.row.state, scene.row.host_id) == ("starting", scene.target.host.pk)
    scene.lose(scene.target)
    row = scene.row
    assert (row.state, row.host_id, row.failure_code) == ("stopped", scene.source.host.pk, "")
    assert kinds(row)[-1] == "moved_back"
    assert not Hold.objects.filter(source_kind="instance", source_id=row.pk, released_at=None).exists()


def test_the_source_dies_after_the_move_has_run(scene: Scene) -> None:
    scene.migrate_and_arrive()
    scene.target.settle()
    advance_transfers(now=clock.now())
    assert Move.objects.get().state == "clearing"
    scene.lose(scene.source)
    assert Move.objects.get().state == "done"
    assert scene.row.state == "running"


def test_the_target_dies_with_a_copy_that_has_just_arrived(scene: Scene) -> None:
    """It is not switched to a dead host: the source is still whole."""
    scene.migrate()
    report_done(scene.target, "receive_root")
    scene.lose(scene.target)
    apply_results()
    assert (scene.row.state, scene.row.host_id) == ("stopped", scene.source.host.pk)
    assert not live_leases_of(scene.instance.pk)
    assert not InstancePort.objects.filter(host=scene.target.host).exists()


def test_a_volume_that_has_just_arrived_at_a_dead_host_stays_where_it_is(scene: Scene) -> None:
    volume = create_volume(owner=scene.renter, host_id=scene.source.host.pk, name="data", size_gb=20)
    carry_out(scene.source)
    move_volume_to_host(owner=scene.renter, volume_id=volume.pk, host_id=scene.target.host.pk)
    report_done(scene.target, "receive_volume")
    scene.lose(scene.target)
    volume.refresh_from_db()
    assert (volume.state, volume.host_id) == ("ready", scene.source.host.pk)
    assert VolumeMove.objects.get().state == "failed"
    assert not Operation.objects.filter(ended_at=None).exists(), "nobody is asked to remove the only copy"


def test_what_does_not_start_while_its_source_is_dead_stays_with_its_data(scene: Scene) -> None:
    """There is no way back to a host that was written off, and all of it lies on the new one."""
    scene.migrate_and_arrive()
    scene.target.sync()
    scene.target.break_next(scene.instance, "ssh_silent", "SSH did not answer.")
    scene.write_off(scene.source)
    scene.target.settle()
    advance_transfers(now=clock.now())
    advance_transfers(now=clock.now())
    row = scene.row
    assert (row.state, row.host_id, row.is_proven_stopped) == ("failed", scene.target.host.pk, True)
    assert Move.objects.get().state == "done"
    assert not InstancePort.objects.filter(host=scene.source.host).exists()
    start_instance(renter=scene.renter, instance_id=row.pk)
    scene.target.settle()
    assert scene.row.state == "running"


def test_both_die_before_it_has_run(scene: Scene) -> None:
    scene.migrate_and_arrive()
    scene.write_off(scene.source)
    scene.lose(scene.target)
    assert scene.row.state == "gone"
    assert not Hold.objects.filter(released_at=None).exists()
    assert not InstancePort.objects.exists()


def test_the_source_of_a_clone_dies_while_it_is_copied(scene: Scene) -> None:
    target = clone_instance(renter=scene.renter, instance_id=scene.instance.pk, to=there(scene.target))
    scene.lose(scene.source)
    assert scene.row.state == "gone"
    scene.target.settle()
    assert reload(target).state == "gone"
    assert not Hold.objects.filter(released_at=None).exists()
