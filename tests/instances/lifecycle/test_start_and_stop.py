"""Stop, start, restart, rename and release as their renter asks for them."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import User
from billing.errors import InsufficientFunds
from billing.models import Hold, Meter
from common import clock
from common.change_counters import version_of
from common.errors import IllegalTransition, NotFound, StaleRow
from instances.constants import STOP_GRACE
from instances.core import transitions
from instances.core.selectors import desired_instances
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from instances.release.services import release_instance
from instances.schedules.settings import rename_instance
from marketplace.errors import GpuTaken, OfferClosed, PriceChanged
from marketplace.hosts.offers import set_draining, set_price
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Offer
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock

Verb = Callable[..., Instance]


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host, gpu_count=2)


@pytest.fixture
def stopped(rin: User, host: FakeHost, running: Instance) -> Instance:
    stop_instance(renter=rin, instance_id=running.pk)
    host.settle()
    return reload(running)


def last_event(instance: Instance) -> InstanceEvent:
    return InstanceEvent.objects.filter(instance=instance)[0]


# -- stop


def test_stop_caps_the_bill_and_tells_the_host(rin: User, host: FakeHost, running: Instance, hours: Clock) -> None:
    hours.advance(seconds=30)
    stop_instance(renter=rin, instance_id=running.pk)
    stopping = reload(running)
    assert (stopping.state, stopping.desired, stopping.stop_requested_at) == ("stopping", "stopped", clock.now())
    assert stopping.run_generation == 1
    assert Meter.objects.get().capped_at == clock.now() + STOP_GRACE
    assert (last_event(running).kind, last_event(running).actor) == ("stop_asked", "renter")
    assert [row.run for row in desired_instances(host.host.pk)] == ["stopped"]


def test_stop_before_anything_ran_costs_nothing(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    assert Hold.objects.filter(released_at=None).exists(), "until the host has proven that nothing runs"
    host.settle()
    assert reload(instance).state == "stopped"
    assert not Hold.objects.filter(released_at=None).exists()
    assert not Meter.objects.exists()


def test_fault_042_a_stop_that_races_the_start_ends_stopped(rin: User, host: FakeHost, stopped: Instance) -> None:
    start_instance(renter=rin, instance_id=stopped.pk)
    host.sync()  # the agent has heard of the start…
    stop_instance(renter=rin, instance_id=stopped.pk)
    host.work()  # …and carries it out
    host.sync()
    assert reload(stopped).state == "stopping"
    host.settle()
    assert reload(stopped).state == "stopped"
    assert Meter.objects.filter(closed_at=None).count() == 0
    assert Meter.objects.count() == 1


# -- start


def test_start_leases_again_and_raises_fence_and_generation(rin: User, host: FakeHost, stopped: Instance) -> None:
    start_instance(renter=rin, instance_id=stopped.pk)
    starting = reload(stopped)
    assert (starting.state, starting.desired) == ("starting", "running")
    assert (starting.run_generation, starting.fence) == (2, 2)
    assert starting.gpu_uuids == stopped.gpu_uuids, "the old GPUs where they are free"
    assert (starting.stopped_at, starting.release_at, starting.stop_requested_at) == (None, None, None)
    assert Hold.objects.get(released_at=None).amount_micros == 7_200_000
    host.settle()
    assert reload(stopped).state == "running"
    assert reload(stopped).ports == stopped.ports


def test_start_takes_other_gpus_of_the_host(rin: User, host: FakeHost, stopped: Instance) -> None:
    order_running(rin, host, gpu_count=1)
    start_instance(renter=rin, instance_id=stopped.pk)
    assert len(set(reload(stopped).gpu_uuids) & set(stopped.gpu_uuids)) == 1
    assert {lease.gpu_uuid for lease in live_leases_of(stopped.pk)} == set(reload(stopped).gpu_uuids)
    host.settle()
    assert reload(stopped).state == "running"


def test_start_while_others_have_the_gpus(rin: User, host: FakeHost, stopped: Instance) -> None:
    order_running(rin, host, gpu_count=3)
    with pytest.raises(GpuTaken, match="try again later") as refusal, refused():
        start_instance(renter=rin, instance_id=stopped.pk)
    assert refusal.value.extra["release_at"] == stopped.release_at
    assert reload(stopped).state == "stopped"
    assert Hold.objects.filter(released_at=None, source_id=stopped.pk).count() == 0


def test_start_on_a_host_that_takes_no_rents(rin: User, host: FakeHost, stopped: Instance) -> None:
    set_draining(actor_id=host.owner.pk, host_id=host.host.pk, draining=True)
    with pytest.raises(OfferClosed), refused():
        start_instance(renter=rin, instance_id=stopped.pk)


def test_start_without_money(bob: User, host: FakeHost, hours: Clock) -> None:
    grant(bob, 4 * UNIT)
    instance = order_running(bob, host)
    hours.advance(minutes=2)
    for _ in range(9):
        hours.advance(minutes=2)
        host.sync()
    stop_instance(renter=bob, instance_id=instance.pk)
    host.settle()
    with pytest.raises(InsufficientFunds), refused():
        start_instance(renter=bob, instance_id=instance.pk)
    assert reload(instance).state == "stopped"


def test_a_higher_price_must_be_accepted_a_lower_one_is_taken(rin: User, host: FakeHost, stopped: Instance) -> None:
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=4 * UNIT)
    with pytest.raises(PriceChanged) as refusal, refused():
        start_instance(renter=rin, instance_id=stopped.pk)
    assert refusal.value.extra["hourly_rate"] == "8.00"
    with pytest.raises(PriceChanged), refused():
        start_instance(renter=rin, instance_id=stopped.pk, max_rate_micros=8 * UNIT - 1)
    with refused():
        start_instance(renter=rin, instance_id=stopped.pk, max_rate_micros=8 * UNIT)
        assert reload(stopped).rate_micros_per_hour == 8 * UNIT
    host.settle()
    stop_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=1 * UNIT)
    start_instance(renter=rin, instance_id=stopped.pk)
    assert reload(stopped).rate_micros_per_hour == 2 * UNIT


# -- restart


def test_restart_raises_the_generation_alone(rin: User, host: FakeHost, running: Instance) -> None:
    restart_instance(renter=rin, instance_id=running.pk)
    row = reload(running)
    assert (row.state, row.desired, row.run_generation, row.fence) == ("restarting", "running", 2, 1)
    host.settle()
    assert reload(running).state == "running"
    assert host.boxes[running.pk].made_for == 2
    assert Meter.objects.count() == 1


# -- release


@pytest.mark.parametrize("settled", [True, False])
def test_release_ends_it_and_can_be_repeated(rin: User, host: FakeHost, running: Instance, settled: bool) -> None:
    release_instance(renter=rin, instance_id=running.pk)
    first = reload(running)
    assert (first.state, first.desired, first.stop_requested_at) == ("releasing", "gone", clock.now())
    assert Meter.objects.get().capped_at == clock.now() + STOP_GRACE
    if settled:
        host.settle()
    events = InstanceEvent.objects.count()
    assert release_instance(renter=rin, instance_id=running.pk).state == ("gone" if settled else "releasing")
    assert InstanceEvent.objects.count() == events


def test_release_of_a_stopped_one_leaves_its_gpus_to_others(rin: User, host: FakeHost, stopped: Instance) -> None:
    order_running(rin, host, gpu_count=4)
    release_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    assert reload(stopped).state == "gone"
    assert Offer.objects.get().gpu_free == 0


# -- for all of them


@pytest.mark.parametrize("verb", [stop_instance, start_instance, restart_instance, release_instance])
def test_only_its_renter(bob: User, host: FakeHost, running: Instance, verb: Verb) -> None:
    grant(bob, 100 * UNIT)
    for other_user in (bob, host.owner):
        with pytest.raises(NotFound), refused():
            verb(renter=other_user, instance_id=running.pk)
    with pytest.raises(NotFound), refused():
        rename_instance(renter=bob, instance_id=running.pk, name="mine")
    assert reload(running).state == "running"


@pytest.mark.parametrize(
    ("state", "verb"),
    [("stopped", stop_instance), ("stopped", restart_instance), ("running", start_instance)],
)
def test_what_is_not_possible_says_what_is(rin: User, host: FakeHost, running: Instance, state: str, verb: Verb) -> None:
    if state == "stopped":
        stop_instance(renter=rin, instance_id=running.pk)
        host.settle()
    with pytest.raises(IllegalTransition, match=f"An instance that is {state}") as refusal, refused():
        verb(renter=rin, instance_id=running.pk)
    assert refusal.value.extra["state"] == state


def test_a_wish_survives_a_report_that_came_between(rin: User, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = order(rin, host)
    host.sync()
    stale = iter([reload(instance)])
    host.work()
    host.sync()
    read = transitions.retry_stale

    def with_a_stale_read(attempt: Callable[[], Instance]) -> Instance:
        tries = []

        def once_stale() -> Instance:
            tries.append(1)
            if len(tries) == 1:
                transitions.change_state(next(stale), "stopping", kind="late", actor="test")  # type: ignore[arg-type]
            return attempt()

        return read(once_stale)

    monkeypatch.setattr("instances.lifecycle.stop.retry_stale", with_a_stale_read)
    stop_instance(renter=rin, instance_id=instance.pk)
    assert reload(instance).state == "stopping"
    assert not InstanceEvent.objects.filter(kind="late").exists()


def test_a_row_that_never_holds_still_is_told_to_the_asker() -> None:
    def always() -> None:
        raise StaleRow

    with pytest.raises(StaleRow):
        transitions.retry_stale(always)


def test_rename(rin: User, running: Instance) -> None:
    rename_instance(renter=rin, instance_id=running.pk, name="other")
    assert (reload(running).name, reload(running).generation) == ("other", running.generation)


@pytest.mark.django_db(transaction=True)
def test_whoever_waits_is_woken(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    host_topic, user_topic = f"host:{host.host.pk.hex}", f"user:{rin.pk.hex}"
    for verb in (restart_instance, stop_instance, release_instance):
        before = version_of(host_topic), version_of(user_topic)
        verb(renter=rin, instance_id=instance.pk)
        assert version_of(host_topic) > before[0]
        assert version_of(user_topic) > before[1]
    before = version_of(host_topic), version_of(user_topic)
    rename_instance(renter=rin, instance_id=instance.pk, name="x")
    assert version_of(host_topic) == before[0], "a name is nothing to the host"
    assert version_of(user_topic) > before[1]


def test_deadlines_follow_the_state(rin: User, running: Instance) -> None:
    assert running.deadline is None
    stop_instance(renter=rin, instance_id=running.pk)
    assert reload(running).deadline == clock.now() + timedelta(minutes=5)
