"""Periodic passes: what they find, what they leave alone, and that doing it twice is doing it once."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from billing.metering.settle import extend_holds, settle_meters
from common import clock
from common.errors import NotFound
from instances.core.selectors import any_instance, data_due
from instances.enforcement import sweeps
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import halt_instance, stop_instance
from instances.models import Instance, InstanceEvent, InstanceSample
from instances.monitoring import rollups
from instances.release.services import release_instance
from marketplace.errors import OfferClosed
from marketplace.hosts.heartbeat import mark_silent_hosts
from marketplace.leasing.lease import release_leases
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Host, Incident, Lease
from tests.billing.money import UNIT, assert_sound, charged, grant, wallet
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock


def silence_everyone(host: FakeHost, hours: Clock, count: int) -> None:
    """Let `count` more hosts of the owner report once, and never again."""
    others = [FakeHost(host.owner) for _ in range(count)]
    hours.advance(minutes=1)
    for other in (host, *others):
        other.sync()


# -- deadlines


def test_a_step_that_takes_too_long_becomes_an_incident_and_nothing_else(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order(rin, host)
    host.sync()
    host.sync()
    assert sweeps.enforce_deadlines(now=clock.now()) == 0
    hours.advance(minutes=20)
    assert sweeps.enforce_deadlines(now=clock.now()) == 1
    assert sweeps.enforce_deadlines(now=clock.now()) == 0
    assert Incident.objects.get().kind == "instance_overdue"
    assert InstanceEvent.objects.filter(instance=instance, kind="overdue").count() == 1
    assert reload(instance).state == "provisioning"
    assert len(live_leases_of(instance.pk)) == 1, "never released by time (D2)"
    host.settle()
    assert reload(instance).state == "running"


def test_fault_041_a_stop_that_hangs_is_noticed_and_the_gpu_stays_held(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    hours.advance(minutes=5)
    assert sweeps.enforce_deadlines(now=clock.now()) == 1
    assert len(live_leases_of(instance.pk)) == 1


def test_a_row_that_moved_meanwhile_is_not_overdue(rin: User, host: FakeHost, hours: Clock) -> None:
    stale = order(rin, host)
    host.settle()
    assert not sweeps._report_overdue(stale)
    assert not Incident.objects.exists()


def test_fault_023_a_host_that_vanishes_is_paid_to_its_last_report_keeps_its_lease_and_rents_nothing_out(
    rin: User, host: FakeHost, hours: Clock
) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=60)
    host.sync()
    hours.advance(minutes=10)
    assert mark_silent_hosts(now=clock.now()) == 1
    settle_meters(now=clock.now())
    host.offer.refresh_from_db()
    assert (host.offer.host.state, host.offer.gpu_free) == ("silent", 0)
    with refused(), pytest.raises(OfferClosed):
        order(rin, host)
    assert reload(instance).state == "running"
    assert len(live_leases_of(instance.pk)) == 1
    host.sync()
    hours.advance(seconds=30)
    host.sync()
    host.offer.refresh_from_db()
    assert host.offer.gpu_free > 0
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert charged(instance.pk) == (60 + 30) * 1000, "nothing of the silence"
    assert_sound()


def test_fault_027_nobody_is_blamed_and_nothing_stopped_while_everybody_is_silent(
    bob: User, host: FakeHost, hours: Clock
) -> None:
    grant(bob, 8 * UNIT)
    running, waiting = order_running(bob, host), order(bob, host)
    silence_everyone(host, hours, 3)
    for _ in range(31):
        hours.advance(minutes=2)
        host.sync()
    hours.advance(minutes=20)
    assert sweeps.enforce_deadlines(now=clock.now()) == 0
    assert sweeps.stop_exhausted(now=clock.now()) == 0
    assert reload(running).state == "running"
    assert not Incident.objects.filter(kind="instance_overdue").exists()
    Host.objects.update(last_seen_at=clock.now())
    assert sweeps.enforce_deadlines(now=clock.now()) == 1
    assert sweeps.stop_exhausted(now=clock.now()) == 1
    assert reload(waiting).state == "provisioning"


# -- money


def run_for(host: FakeHost, hours: Clock, minutes: int) -> None:
    for _ in range(minutes):
        hours.advance(minutes=1)
        host.sync()
        extend_holds(now=clock.now())
        sweeps.stop_exhausted(now=clock.now())


def test_fault_063_at_the_end_of_the_money_it_stops_and_keeps_the_data(bob: User, host: FakeHost, hours: Clock) -> None:
    grant(bob, 8 * UNIT)
    instance = order_running(bob, host)
    run_for(host, hours, 119)
    assert reload(instance).state == "running"
    run_for(host, hours, 2)
    stopping = reload(instance)
    assert (stopping.state, stopping.desired) == ("stopping", "stopped")
    event = InstanceEvent.objects.get(kind="funds_exhausted")
    assert (event.actor, event.to_state) == ("system", "stopping")
    host.settle()
    assert reload(instance).state == "stopped"
    assert reload(instance).release_at == clock.now() + timedelta(days=30)
    assert charged(instance.pk) == 2 * 3_600_000
    assert wallet(bob).balance_micros == 800_000
    assert_sound()


def test_fault_064_a_top_up_in_time_keeps_it_running(bob: User, host: FakeHost, hours: Clock) -> None:
    grant(bob, 4 * UNIT)
    instance = order_running(bob, host)
    run_for(host, hours, 58)
    grant(bob, 4 * UNIT)
    run_for(host, hours, 10)
    assert reload(instance).state == "running"


def test_halting_what_has_ended_by_itself_is_not_needed(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    release_instance(renter=rin, instance_id=instance.pk)
    assert not halt_instance(instance_id=instance.pk, kind="funds_exhausted")
    assert reload(instance).state == "releasing"
    with pytest.raises(NotFound):
        any_instance(uuid4())


# -- data


def test_after_thirty_days_the_data_is_released(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    hours.advance(days=29, hours=23)
    assert sweeps.purge_expired(now=clock.now()) == 0
    hours.advance(hours=1)
    assert sweeps.purge_expired(now=clock.now()) == 1
    assert sweeps.purge_expired(now=clock.now()) == 0
    assert reload(instance).state == "releasing"
    assert InstanceEvent.objects.filter(instance=instance)[0].kind == "retention_over"
    host.settle()
    assert reload(instance).state == "gone"


def test_failed_ones_too(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order(rin, host)
    host.sync()
    host.break_next(instance, "ssh_silent")
    host.settle()
    hours.advance(days=30)
    assert sweeps.purge_expired(now=clock.now()) == 1
    assert reload(instance).state == "releasing"


def test_fault_048_a_start_just_before_saves_the_data(
    rin: User, host: FakeHost, hours: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    hours.advance(days=30)
    host.sync()
    due = data_due(clock.now())
    assert due == [instance.pk]
    start_instance(renter=rin, instance_id=instance.pk)
    monkeypatch.setattr(sweeps, "data_due", lambda now: due)
    assert sweeps.purge_expired(now=clock.now()) == 0
    assert reload(instance).state == "starting"


# -- the fourth wall


def test_leases_and_books_agree_through_a_whole_life(rin: User, host: FakeHost) -> None:
    instance = order(rin, host, gpu_count=2)
    steps = [
        host.settle,
        lambda: stop_instance(renter=rin, instance_id=instance.pk),
        host.settle,
        lambda: start_instance(renter=rin, instance_id=instance.pk),
        host.settle,
        lambda: host.end(instance),
        host.sync,
        host.settle,
        lambda: release_instance(renter=rin, instance_id=instance.pk),
        host.settle,
    ]
    for step in steps:
        assert sweeps.compare_leases() == 0
        step()
    assert sweeps.compare_leases() == 0
    assert reload(instance).state == "gone"
    assert not Incident.objects.exists()


def test_a_lease_that_ended_too_early_is_found(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    release_leases(holder=instance.pk, reason="sabotage")
    assert sweeps.compare_leases() == 1
    assert sweeps.compare_leases() == 1
    incident = Incident.objects.get()
    assert (incident.kind, incident.subject) == ("lease_difference", f"inst_{instance.pk.hex}")
    refused = pytest.raises(IntegrityError, match="nothing proves")  # no such release is ever committed
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS lease_ends_by_proof IMMEDIATE")
    Lease.objects.update(released_at=None)  # a test ends with a look at them too


def test_a_lease_of_nobody_is_found(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    Lease.objects.update(holder=uuid4())
    assert sweeps.compare_leases() == 2, "one holds what it should not, one should hold what it does not"
    assert reload(instance).state == "running"


def test_a_lease_of_other_gpus_is_found(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    Instance.objects.filter(pk=instance.pk).update(gpu_uuids=["GPU-other"])
    assert sweeps.compare_leases() == 1


def test_a_rent_between_the_two_reads_is_no_difference(rin: User, host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [{uuid4(): "not yet written"}, {}]
    monkeypatch.setattr(sweeps, "_lease_differences", lambda: differences.pop(0))
    assert sweeps.compare_leases() == 0
    assert not Incident.objects.exists()


# -- samples


def test_old_samples_are_dropped(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    for days in (0, 1, 3, 9):
        InstanceSample.objects.create(
            instance=instance,
            at=clock.now() - timedelta(days=days),
            **dict.fromkeys(("cpu_pct", "ram_mb", "disk_mb", "rx_bytes", "tx_bytes", "gpu_util_pct", "vram_used_mb"), 1),
        )
    assert rollups.delete_old_samples(now=clock.now()) == 2
    assert InstanceSample.objects.count() == 2


# -- the ledger


def test_a_sound_ledger_opens_no_incident_and_a_broken_one_does(rin: User, host: FakeHost, hours: Clock) -> None:
    order_running(rin, host)
    assert sweeps.audit_ledger() == 0
    with connection.cursor() as cursor:  # past every service: the cached balance alone
        cursor.execute("UPDATE billing_wallet SET balance_micros = balance_micros + 1 WHERE owner_id = %s", [rin.pk])
    assert sweeps.audit_ledger() == 1
    assert sweeps.audit_ledger() == 1
    incident = Incident.objects.get()
    assert (incident.kind, incident.closed_at) == (sweeps.LEDGER_FINDING, None)
