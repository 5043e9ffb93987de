"""While many hosts are silent together (D6) the others are as on any day: what nobody pays for ends there in time."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from accounts.models import User
from common import clock
from instances.enforcement import sweeps
from instances.enforcement.budgets import set_budget
from instances.enforcement.disputes import stop_disputed
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent, Term
from marketplace.constants import BREAKER_LASTS
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Host, Incident
from marketplace.reliability.silence_selectors import circuit_breaker_open, silent_hosts_in_mass_silence
from tests.billing.money import UNIT, charged, grant, wallet
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, running, sell
from tests.instances.spot.bidders import bid, with_spot
from tests.instances.spot.test_disputes import disputed
from tests.instances.sweeps import run_sweeps

# Minutes between two runs of the sweeps while every host reports and nothing is due.
QUIET = 10


@pytest.fixture
def others() -> list[FakeHost]:
    """Three of four hosts, each of another owner: when they fall silent the breaker is open."""
    owners = [User.objects.create(email=f"owner-{number}@example.com", is_host_owner=True) for number in range(3)]
    hosts = [FakeHost(owner) for owner in owners]
    Host.objects.update(enrolled_at=clock.now() - timedelta(days=30))  # they have reported since
    return hosts


def run_for(
    hosts: list[FakeHost], hours: Clock, minutes: int, *, idle: Sequence[FakeHost] = (), sweep_every: int = 1
) -> None:
    """These hosts report each minute, and the sweeps run. The idle ones have nothing on them to report on."""
    for minute in range(minutes):
        hours.advance(minutes=1)
        for host in hosts:
            host.settle()
        for host in idle:
            assert not host.boxes
            host.was_there()
        if minute % sweep_every == 0 or minute == minutes - 1:
            run_sweeps()


def kinds(instance: Instance) -> list[str]:
    return list(InstanceEvent.objects.filter(instance=instance).order_by("id").values_list("kind", flat=True))


def test_a_dry_wallet_on_a_host_that_answers_is_stopped_in_time(
    bob: User, host: FakeHost, others: list[FakeHost], hours: Clock
) -> None:
    """The audit's s40 and x4: two hours were paid, and at three it ran on for nothing."""
    grant(bob, 8 * UNIT)
    instance = order_running(bob, host)
    run_for([host, *others], hours, 110, sweep_every=QUIET)
    run_for([host], hours, 9)
    assert circuit_breaker_open(clock.now())
    assert reload(instance).state == "running"
    run_for([host], hours, 2)
    assert circuit_breaker_open(clock.now())
    assert reload(instance).state == "stopped"
    assert "funds_exhausted" in kinds(instance)
    assert charged(instance.pk) == 2 * 3_600_000
    assert_all_well()


def test_a_hard_budget_on_a_host_that_answers_stops_in_time(
    rin: User, host: FakeHost, others: list[FakeHost], hours: Clock
) -> None:
    set_budget(owner=rin, scope="member", subject_id=None, period="month", limit_micros=8 * UNIT, hard=True)
    instance = order_running(rin, host)
    run_for([host], hours, 110, idle=others, sweep_every=QUIET)
    run_for([host], hours, 12)
    assert circuit_breaker_open(clock.now())
    assert reload(instance).state == "stopped"
    assert "budget_reached" in kinds(instance)
    assert charged(instance.pk) <= 8 * UNIT


def test_a_term_and_kept_gpus_on_a_host_that_answers_end_in_time(
    rin: User, bob: User, host: FakeHost, others: list[FakeHost], hours: Clock
) -> None:
    sell(host)
    reserved = running(rin, host, "reserved", term="day")
    stop_instance(renter=rin, instance_id=reserved.pk)  # no report ends the term of one that does not run
    Term.objects.filter(instance=reserved).update(ends_at=clock.now() + timedelta(minutes=170))
    grant(bob, 5_500_000)
    kept = order_running(bob, host)
    stop_instance(renter=bob, instance_id=kept.pk, hold=True)  # at 1.80 an hour for somewhat more than three
    run_for([host], hours, 165, idle=others, sweep_every=QUIET)
    assert reload(reserved).holds_gpus
    assert reload(kept).holds_gpus
    run_for([host], hours, 25)
    assert circuit_breaker_open(clock.now())
    assert Term.objects.get(instance=reserved).state == "ended"
    assert live_leases_of(reserved.pk) == []
    assert live_leases_of(kept.pk) == []
    assert "keeping_unpaid" in kinds(kept)
    assert_all_well()


def test_a_disputed_renter_and_a_stuck_step_on_a_host_that_answers_are_followed(
    rin: User, bob: User, host: FakeHost, others: list[FakeHost], hours: Clock
) -> None:
    with_spot(host)
    spot = bid(rin, host, 2.00)
    grant(bob, 100 * UNIT)
    stuck = order(bob, host)
    host.sync()
    host.sync()
    hours.advance(minutes=5)
    host.sync()
    assert circuit_breaker_open(clock.now())
    disputed(rin, "open")
    assert stop_disputed(now=clock.now()) == 1
    assert reload(spot).state == "stopping"
    hours.advance(minutes=16)
    host.sync()
    assert circuit_breaker_open(clock.now())
    assert sweeps.enforce_deadlines(now=clock.now()) == 2
    assert "overdue" in kinds(stuck)


def test_nothing_is_ended_on_the_hosts_that_are_silent(
    bob: User, host: FakeHost, others: list[FakeHost], hours: Clock
) -> None:
    """What rests on silence is held back: whether these use anything is not known, and nothing is charged for it."""
    grant(bob, 8 * UNIT)
    away = order_running(bob, others[0])
    run_for([host, others[0]], hours, 110, idle=others[1:], sweep_every=QUIET)
    run_for([host], hours, 25)
    assert silent_hosts_in_mass_silence(clock.now()) == {each.host.pk for each in others}
    assert reload(away).state == "running"
    assert charged(away.pk) <= 2 * 3_600_000
    assert wallet(bob).balance_micros >= 0


def test_after_its_time_the_hosts_that_are_gone_are_gone_and_nothing_is_held_back(
    bob: User, host: FakeHost, others: list[FakeHost], hours: Clock
) -> None:
    """Three hosts of four switched off together do not keep it open for ever; each is then silent like any other."""
    grant(bob, 8 * UNIT)
    away = order_running(bob, others[0])
    run_for([host, others[0]], hours, 110, idle=others[1:], sweep_every=QUIET)
    run_for([host], hours, round(BREAKER_LASTS.total_seconds() / 60) + 3)
    assert not circuit_breaker_open(clock.now())
    assert silent_hosts_in_mass_silence(clock.now()) == frozenset()
    incident = Incident.objects.get(kind="mass_silence")
    assert (incident.closed_by, incident.closed_at is not None) == ("time limit", True)
    assert reload(away).state == "running", "its paid time stands still while its host is silent"
    assert len(live_leases_of(away.pk)) == 1, "its GPUs are free when its end is proven (D2)"
    run_for([host], hours, 1)
    assert [again_state(each) for each in others] == ["silent"] * 3
    run_for([host, others[0]], hours, 15)
    assert reload(away).state == "stopped", "nobody pays for it any more"


def again_state(host: FakeHost) -> str:
    host.host.refresh_from_db()
    return str(host.host.state)
