"""Races for a volume: many instances want it, one of them starts meanwhile, its owner deletes it. One writer, always."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection

from accounts.models import User
from common.errors import DomainError
from instances.core.selectors import desired_instances
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.volumes.attach import attach_volume, detach_volume
from storage.models import Attachment, Image, Volume
from storage.volumes import attachments
from storage.volumes.volumes import create_volume, delete_volume
from tests.billing.money import assert_sound, execute_as_owner, in_parallel
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.volume_world import carry_out

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 6


@pytest.fixture
def host(hana: User, image: Image) -> FakeHost:
    return FakeHost(hana, gpus=8)


@pytest.fixture
def volume(rich: User, host: FakeHost) -> Volume:
    made = create_volume(owner=rich, name="models", size_gb=10, host_id=host.host.pk)
    carry_out(host)
    return made


def stopped(renter: User, host: FakeHost) -> Instance:
    instance = order_running(renter, host)
    stop_instance(renter=renter, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def refusals(results: list[object]) -> list[str]:
    errors = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(error, DomainError) and error.status == 409 for error in errors), errors
    return sorted(error.code for error in errors if isinstance(error, DomainError))


def writers(host: FakeHost, volume: Volume) -> list[str]:
    """The instances that their agent would start with the volume."""
    rows = desired_instances(host.host.pk)
    return [str(row.id) for row in rows if volume.pk.hex in {mount.id for mount in row.mounts}]


def test_fault_046_one_of_many_gets_it(rich: User, host: FakeHost, volume: Volume) -> None:
    instances = [stopped(rich, host) for _ in range(6)]
    asks: list[Callable[[], object]] = [
        partial(attach_volume, renter=rich, volume_id=volume.pk, instance_id=each.pk) for each in instances
    ]
    assert refusals(in_parallel(asks)) == ["volume_busy"] * 5
    assert Attachment.objects.filter(detached_at=None).count() == 1
    assert len(writers(host, volume)) == 1


def test_fault_046_with_both_walls_down_two_write(
    rich: User, host: FakeHost, volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paired test: nobody looks who has it already, and the table takes a second writer."""
    instances = [stopped(rich, host) for _ in range(2)]
    monkeypatch.setattr(attachments, "holders_of", lambda volume_ids: {})
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef('one_writer_per_volume'::regclass)")
        (definition,) = cursor.fetchone()
    execute_as_owner("DROP INDEX one_writer_per_volume")
    try:
        for each in instances:
            attach_volume(renter=rich, volume_id=volume.pk, instance_id=each.pk)
        assert len(writers(host, volume)) == 2
    finally:
        execute_as_owner("TRUNCATE storage_attachment CASCADE")
        execute_as_owner(definition)


def test_attached_or_deleted(rich: User, host: FakeHost, volume: Volume) -> None:
    instance = stopped(rich, host)
    results = in_parallel(
        [
            partial(attach_volume, renter=rich, volume_id=volume.pk, instance_id=instance.pk),
            partial(delete_volume, owner=rich, volume_id=volume.pk),
        ]
    )
    assert refusals(results) == ["volume_busy"]
    deleting = Volume.objects.get().state == "deleting"
    assert deleting != bool(writers(host, volume))
    assert_sound()


def test_what_starts_with_it_keeps_it(rich: User, host: FakeHost, volume: Volume) -> None:
    """Whoever was faster: a container that runs with the volume has it, and what is taken away is not started with."""
    instance = stopped(rich, host)
    for _ in range(ROUNDS):
        attach_volume(renter=rich, volume_id=volume.pk, instance_id=instance.pk)
        results = in_parallel(
            [
                partial(start_instance, renter=rich, instance_id=instance.pk),
                partial(detach_volume, renter=rich, volume_id=volume.pk),
            ]
        )
        assert set(refusals(results)) <= {"unlawful_action", "stale"}
        state = reload(instance).state
        if state == "starting":
            host.settle()
            stop_instance(renter=rich, instance_id=instance.pk)
            host.settle()
        detach_volume(renter=rich, volume_id=volume.pk)
        assert writers(host, volume) == []
    assert_sound()
