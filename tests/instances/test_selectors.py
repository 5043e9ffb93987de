"""What hosts are told and what renters see."""

from dataclasses import fields
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.protocol.messages import DesiredInstance
from common import clock
from common.errors import NotFound
from instances.constants import METRICS_POINTS
from instances.core.selectors import DesiredRow, desired_instances, instance_of, instances_in, instances_of
from instances.lifecycle.stop import stop_instance
from instances.models import InstanceSample
from instances.monitoring.usage_selectors import metrics_of
from instances.release.services import release_instance
from marketplace.constants import SYSTEM_DISK_GB
from tests.instances.fake_host import FakeHost, order, order_running
from tests.instances.fixtures import Clock


def test_the_row_mirrors_the_protocol_field_for_field() -> None:
    assert [field.name for field in fields(DesiredRow)] == [field.name for field in fields(DesiredInstance)]


def test_what_a_host_should_run(rin: User, host: FakeHost) -> None:
    instance = order(rin, host, gpu_count=2)
    (row,) = desired_instances(host.host.pk)
    assert row == DesiredRow(
        id=instance.pk,
        generation=1,
        fence=1,
        run="running",
        image="berth/base:1",
        gpu_uuids=instance.gpu_uuids,
        simulated_gpus=True,
        cpu_millis=16_000,
        ram_mb=61_440,
        pids_limit=8192,
        data_disk_gb=10,
        ports=[tuple(pair) for pair in instance.ports],
        ssh_keys=[],
        env={"JUPYTER_TOKEN": instance.jupyter_token},
        stop_grace_s=10,
        system_disk_gb=SYSTEM_DISK_GB,
    )


def test_a_stopped_one_names_no_gpus_and_one_that_is_gone_is_not_named(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    (row,) = desired_instances(host.host.pk)
    assert (row.run, row.gpu_uuids) == ("stopped", [])
    release_instance(renter=rin, instance_id=instance.pk)
    assert [row.run for row in desired_instances(host.host.pk)] == ["gone"]
    host.settle()
    assert desired_instances(host.host.pk) == []


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_query_where_nothing_is_mounted(rin: User, host: FakeHost, count: int) -> None:
    for _ in range(count):
        order(rin, host)
    with CaptureQueriesContext(connection) as queries:
        assert len(desired_instances(host.host.pk, mounts=False)) == count
    assert len(queries) == 1


def test_only_its_own_host(rin: User, host: FakeHost) -> None:
    order(rin, host)
    assert desired_instances(FakeHost(host.owner).host.pk) == []


def test_renters_see_their_own(rin: User, bob: User, host: FakeHost) -> None:
    instance = order(rin, host)
    assert list(instances_of(rin)) == [instance]
    assert list(instances_of(bob)) == []
    with pytest.raises(NotFound):
        instance_of(bob, instance.pk)


def test_lists_by_state(rin: User, host: FakeHost, hours: Clock) -> None:
    gone = order_running(rin, host)
    hours.advance(seconds=1)
    running = order_running(rin, host)
    release_instance(renter=rin, instance_id=gone.pk)
    host.settle()
    assert list(instances_in(rin, [])) == [running]
    assert list(instances_in(rin, ["gone"])) == [gone]
    assert list(instances_in(rin, ["gone", "running"])) == [running, gone]


def test_metrics_are_thinned(rin: User, host: FakeHost) -> None:
    instance, now = order_running(rin, host), clock.now()
    InstanceSample.objects.bulk_create(
        InstanceSample(
            instance=instance,
            at=now - timedelta(seconds=second),
            cpu_pct=second % 2 * 100,
            ram_mb=10,
            disk_mb=second,
            rx_bytes=1,
            tx_bytes=2,
            gpu_util_pct=50,
            vram_used_mb=7,
        )
        for second in range(1, 3601)
    )
    points = metrics_of(instance, since=now - timedelta(hours=1), until=now)
    assert METRICS_POINTS <= len(points) <= METRICS_POINTS + 1
    assert sum(point.rx_bytes or 0 for point in points) == 3600
    assert sum(point.tx_bytes or 0 for point in points) == 7200
    assert points == sorted(points, key=lambda point: point.at)
    assert {point.ram_mb for point in points} == {10}
    assert metrics_of(order(rin, host), since=now - timedelta(hours=1), until=now) == []
