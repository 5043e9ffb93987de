"""A data disk that its host does not find: told, noted, not paid for, and never made anew."""

import pytest

from accounts.models import User
from billing.policy import DISK_SOURCE
from billing.selectors import open_holds
from common import clock
from common.ids import public_id
from instances.models import Instance
from instances.selectors.moves import desired_on_host
from instances.services.disks import follow_disks
from instances.services.start import start_instance
from instances.services.stop import stop_instance
from marketplace.models import Incident, Offer
from tests.billing.money import assert_sound
from tests.instances.fake_host import FakeHost, again, order
from tests.instances.fixtures import Clock

PAID_GB = 60


@pytest.fixture
def stopped(rin: User, host: FakeHost) -> Instance:
    """An instance with a data disk that costs something, stopped after a first run."""
    Offer.objects.filter(pk=host.offer.pk).update(disk_micros_gb_day=4_800)
    instance = order(rin, host, disk=PAID_GB)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return again(instance)


def told_made(host: FakeHost) -> bool:
    [row] = desired_on_host(host.host.pk)
    return row.data_disk_made


def is_metered(instance: Instance) -> bool:
    return instance.pk in open_holds(source_kind=DISK_SOURCE, source_ids=[instance.pk])


def open_incidents(instance: Instance) -> int:
    subject = public_id("inst", instance.pk)
    return Incident.objects.filter(kind="data_disk_missing", subject=subject, closed_at__isnull=True).count()


def test_a_host_may_make_the_disk_until_it_has_run_with_it(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    assert not told_made(host)
    host.sync()
    host.break_next(instance, "create_failed")
    host.settle()
    host.sync()
    assert again(instance).state == "failed" and not told_made(host)
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert again(instance).state == "running" and told_made(host)


def test_a_lost_disk_is_told_and_costs_nothing_until_it_is_back(
    rin: User, host: FakeHost, hours: Clock, stopped: Instance
) -> None:
    assert is_metered(stopped)
    start_instance(renter=rin, instance_id=stopped.pk)
    host.sync()
    host.break_next(stopped, "data_disk_missing")
    host.settle()
    lost = again(stopped)
    assert (lost.state, lost.failure_code, lost.fault_of) == ("failed", "data_disk_missing", "host")
    assert lost.data_disk_lost_at is not None and lost.data_disk_made
    assert open_incidents(stopped) == 1
    assert not is_metered(stopped)

    hours.advance(hours=1)
    follow_disks(now=clock.now())
    assert not is_metered(stopped), "the sweep does not begin again what is lost"

    host.sync()
    start_instance(renter=rin, instance_id=stopped.pk)
    assert told_made(host)
    host.settle()
    found = again(stopped)
    assert (found.state, found.data_disk_lost_at) == ("running", None)
    assert open_incidents(stopped) == 0
    follow_disks(now=clock.now())
    assert is_metered(stopped)
    assert_sound()
