"""What a host's owner, its full disk and a program that does not end cost, and whom."""

from dataclasses import replace

import pytest

from accounts.models import User
from billing.models import Posting
from common import clock
from common.errors import DomainError
from instances.constants import PORT_CHANGES_AT_MOST, STOP_GRACE
from instances.core.failure_messages import PortTaken
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstancePort
from instances.orders.quotes import create_quote
from instances.transfers.selectors import desired_on_host
from marketplace.hosts.hosts import record_facts
from marketplace.models import Host, ReliabilityEvent
from marketplace.reliability.events import refresh_reliability
from tests.billing.money import assert_sound, charged
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock

SECOND = 1_000  # micro-units: 3.60 an hour


def run_for(host: FakeHost, hours: Clock, seconds: int) -> None:
    for _ in range(seconds // 20):
        hours.advance(seconds=20)
        host.sync()


def reliability_of(host: FakeHost) -> int:
    refresh_reliability(now=clock.now())
    ppm = Host.objects.get(pk=host.host.pk).reliability_ppm
    assert ppm is not None
    return ppm


def test_fault_031_a_kill_by_the_owner_ends_the_bill_and_lowers_the_reliability(
    rin: User, host: FakeHost, hours: Clock
) -> None:
    """The agent tells it from an end by itself: see tests/docker/test_blame.py."""
    run_days(host, hours)
    before = reliability_of(host)
    instance = order_running(rin, host)
    run_for(host, hours, 200)
    hours.advance(seconds=10)
    host.end(instance, "killed")
    host.sync()
    failed = reload(instance)
    assert (failed.state, failed.failure_code, failed.fault_of) == ("failed", "killed", "host")
    run_for(host, hours, 200)
    assert charged(instance.pk) == 200 * SECOND, "not a second after its last proof"
    [back] = Posting.objects.filter(kind="credit")
    assert back.entries.count() > 0
    entry = ReliabilityEvent.objects.get(host=host.host, kind="host_fault")
    assert entry.detail == "killed"
    hours.advance(minutes=10)
    host.sync()
    assert reliability_of(host) < before
    assert_sound()


def run_days(host: FakeHost, hours: Clock) -> None:
    """So long that the host has a number."""
    hours.advance(hours=25)
    host.sync()


def test_fault_034_a_host_without_room_takes_no_new_rents(rin: User, host: FakeHost) -> None:
    record_facts(host_id=host.host.pk, shape=replace(host.shape, disk_free_gb=0, root_limit="disk"))
    with refused(), pytest.raises(DomainError) as error:
        create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", gpu_count=1, data_disk_gb=0)
    assert error.value.code == "disk_too_large"
    record_facts(host_id=host.host.pk, shape=replace(host.shape, root_limit="disk"))
    create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", gpu_count=1, data_disk_gb=0)


@pytest.mark.parametrize(("takes_s", "paid_s"), [(6, 6), (45, int(STOP_GRACE.total_seconds()))])
def test_fault_041_a_program_that_stays_costs_its_grace_at_most(
    rin: User, host: FakeHost, hours: Clock, takes_s: int, paid_s: int
) -> None:
    """That it is killed after its grace: see tests/docker/test_host_faults.py."""
    instance = order_running(rin, host)
    run_for(host, hours, 60)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.accept(desired_on_host(host.host.pk))
    for _ in range(takes_s):
        hours.advance(seconds=1)
        host.deliver(host.report())
    assert host.report().rows[0].phase == "stopping"
    host.settle()
    assert reload(instance).state == "stopped"
    assert charged(instance.pk) == (60 + paid_s) * SECOND
    assert_sound()


# -- 40: a port is taken on the host


def ports_of(instance: Instance) -> list[int]:
    return [outside for _inside, outside in reload(instance).ports]


def test_fault_040_a_taken_port_is_replaced_and_the_start_goes_on(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.sync()
    first = ports_of(instance)
    host.break_next(instance, "port_taken", PortTaken(port=first[0]))
    host.sync()
    assert reload(instance).state in ("requested", "provisioning")
    second = ports_of(instance)
    assert second[1:] == first[1:] and second[0] not in first
    assert host.shape.port_first <= second[0] <= host.shape.port_last
    host.settle()
    assert reload(instance).state == "running"
    kept = set(InstancePort.objects.filter(instance=instance).values_list("host_port", flat=True))
    assert kept == {*first, *second}, "nobody else is given the one that is taken"
    assert charged(instance.pk) == 0


def test_fault_040_not_without_end_and_not_for_a_port_of_somebody_else(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.sync()
    for _ in range(PORT_CHANGES_AT_MOST):
        host.break_next(instance, "port_taken", PortTaken(port=ports_of(instance)[0]))
        host.sync()
        assert reload(instance).state != "failed"
    host.break_next(instance, "port_taken", PortTaken(port=ports_of(instance)[0]))
    host.sync()
    assert (reload(instance).state, reload(instance).failure_code) == ("failed", "port_taken")
    other = order(rin, host)
    host.sync()
    before = ports_of(other)
    host.break_next(other, "port_taken", PortTaken(port=22))
    host.sync()
    assert reload(other).state == "failed" and ports_of(other) == before
    last = order(rin, host)
    host.sync()
    before = ports_of(last)
    host.break_next(last, "port_taken", f"Port {before[0]} of the host is taken by another program.")
    host.sync()
    assert reload(last).state == "failed" and ports_of(last) == before, "a sentence is read by nobody here"
