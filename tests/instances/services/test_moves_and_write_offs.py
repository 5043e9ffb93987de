"""A host is written off in the middle of a move: what lies elsewhere lives on, and nobody waits for the dead."""

from datetime import timedelta

import pytest

from accounts.models import User
from billing.models import Hold
from common import clock
from instances.models import Instance, Move
from instances.transfers.completion import follow_moves
from instances.transfers.start import clone_instance, migrate_instance
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.write_offs import write_off_host
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Host, HostWriteOff
from tests.instances.fake_host import FakeHost, again
from tests.instances.services.test_moves_between_hosts import (  # noqa: F401  `other` and `stopped` are fixtures
    arrive,
    kinds,
    nothing_is_wrong,
    other,
    stopped,
    there,
)

pytestmark = pytest.mark.usefixtures("hours")


def dies(host: FakeHost, staff: User) -> None:
    Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=1))
    write_off_host(staff=staff, host_id=host.host.pk, reason="A test of its death.", now=clock.now())
    for _ in range(3):  # as its sweeps would
        settle_write_offs(now=clock.now())
        follow_moves(now=clock.now())
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
    follow_moves(now=clock.now())
    assert Move.objects.get().state == "clearing"
    dies(host, stella)
    assert Move.objects.get().state == "done"
    assert again(stopped).state == "running"
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
