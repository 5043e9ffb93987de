"""An instance that runs while its host keeps connections out: told, counted once, and not charged until it is reached."""

import pytest

from accounts.models import User
from billing.models import Entry, Meter, Wallet
from common import clock
from common.ids import public_id
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Alert, Instance
from instances.monitoring.alerts import update_alerts
from instances.release.services import release_instance
from marketplace.models import Incident, ReliabilityEvent
from tests.billing.money import UNIT, assert_sound, charged, grant
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import running, sell
from tests.instances.sweeps import run_sweeps

SECOND = 1_000  # micro-units: 3.60 an hour


def run_for(host: FakeHost, hours: Clock, seconds: int) -> None:
    for _ in range(seconds // 20):
        hours.advance(seconds=20)
        host.sync()


def incidents(instance: Instance) -> list[str]:
    found = Incident.objects.filter(kind="path_broken", subject=public_id("inst", instance.pk), closed_at=None)
    return list(found.values_list("detail", flat=True))


def faults(host: FakeHost) -> list[str]:
    return list(ReliabilityEvent.objects.filter(host=host.host, kind="host_fault").values_list("detail", flat=True))


@pytest.fixture
def cut(rin: User, host: FakeHost, hours: Clock) -> Instance:
    """Charged for 60 s so far, and cut off since 20 s."""
    instance = order_running(rin, host)
    run_for(host, hours, 60)
    host.cut_off(instance)
    run_for(host, hours, 20)
    return reload(instance)


def stopped(rin: User, host: FakeHost, instance: Instance) -> Instance:
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def test_it_costs_nothing_until_it_is_reached(rin: User, host: FakeHost, hours: Clock, cut: Instance) -> None:
    """However short that is: what silence would bridge is not bridged."""
    assert (cut.state, cut.cut_off_since) == ("running", clock.now())
    host.cut_off(cut, "")
    run_for(host, hours, 40)
    assert reload(cut).cut_off_since is None
    stopped(rin, host, cut)
    assert charged(cut.pk) == (60 + 20) * SECOND
    assert_sound()


@pytest.mark.parametrize("mode", ["hourly", "reserved"])
def test_it_is_not_stopped_while_most_of_its_hold_is_left(rin: User, host: FakeHost, hours: Clock, mode: str) -> None:
    """Its hold was for the next hour of use, of which there is none; its term does not end early, which would cost it."""
    sell(host)
    terms = {"term": "month", "payment": "none"} if mode == "reserved" else {}
    instance = running(rin, host, mode, **terms)
    host.cut_off(instance)
    wallet = Wallet.objects.get(owner=rin, kind=Wallet.Kind.RENTER)
    Wallet.objects.filter(pk=wallet.pk).update(balance_micros=wallet.held_micros)
    for _ in range(9):
        run_for(host, hours, 600)
        run_sweeps()
    assert (reload(instance).state, reload(instance).billing_mode) == ("running", mode)
    host.cut_off(instance, "")
    run_for(host, hours, 1200)
    run_sweeps()
    assert (reload(instance).state, reload(instance).billing_mode) == ("running", mode), "its hold pays the rest of the hour"
    assert not Entry.objects.filter(wallet__owner=rin, wallet__kind="debt").exists()


def test_its_renter_and_the_operator_are_told_and_the_ledger_has_it_once(
    rin: User, host: FakeHost, hours: Clock, cut: Instance
) -> None:
    why = "The bridge of its network is down on the host."
    assert incidents(cut) == [f"{host.host.name}: {why}"]
    [alert] = Alert.objects.filter(instance=cut, resolved_at=None)
    assert (alert.kind, alert.fault_of, alert.facts["why"]) == ("path_broken", "host", why)
    host.cut_off(cut, "")
    run_for(host, hours, 20)
    assert not incidents(cut) and not Alert.objects.filter(instance=cut, resolved_at=None).exists()
    host.cut_off(cut)
    run_for(host, hours, 20)
    assert len(incidents(cut)) == 1
    assert faults(host) == ["path_broken"], "once for each run"


def test_an_owner_who_rents_from_the_own_host_makes_no_entry(host: FakeHost, hana: User, hours: Clock) -> None:
    grant(hana, 100 * UNIT)
    instance = order_running(hana, host)
    host.cut_off(instance)
    run_for(host, hours, 20)
    assert reload(instance).cut_off_since is not None and faults(host) == []


def test_a_stop_while_it_is_cut_off_costs_nothing_more(rin: User, host: FakeHost, hours: Clock, cut: Instance) -> None:
    stop_instance(renter=rin, instance_id=cut.pk)
    hours.advance(seconds=2)
    host.settle()
    ended = reload(cut)
    assert (ended.state, ended.cut_off_since) == ("stopped", None)
    assert charged(cut.pk) == 60 * SECOND
    assert not incidents(cut)
    update_alerts(now=clock.now())
    assert not Alert.objects.filter(instance=cut, resolved_at=None).exists()
    host.cut_off(cut, "")
    start_instance(renter=rin, instance_id=cut.pk)
    host.settle()
    run_for(host, hours, 20)
    stopped(rin, host, cut)
    assert charged(cut.pk) == 80 * SECOND
    assert_sound()


def test_a_restart_while_it_is_cut_off_bridges_nothing(rin: User, host: FakeHost, hours: Clock, cut: Instance) -> None:
    restart_instance(renter=rin, instance_id=cut.pk)
    host.cut_off(cut, "")
    hours.advance(seconds=5)
    host.settle()
    run_for(host, hours, 20)
    assert (reload(cut).state, reload(cut).cut_off_since) == ("running", None)
    stopped(rin, host, cut)
    assert charged(cut.pk) == 80 * SECOND


def test_a_program_that_ends_meanwhile_is_paid_to_the_last_proof(
    rin: User, host: FakeHost, hours: Clock, cut: Instance
) -> None:
    hours.advance(seconds=5)
    host.end(cut, ran_s=85)
    host.sync()
    assert (reload(cut).state, reload(cut).cut_off_since) == ("failed", None)
    assert charged(cut.pk) == 60 * SECOND


def test_a_release_ends_all_of_it(rin: User, host: FakeHost, hours: Clock, cut: Instance) -> None:
    release_instance(renter=rin, instance_id=cut.pk)
    host.settle()
    assert (reload(cut).state, reload(cut).cut_off_since) == ("gone", None)
    assert charged(cut.pk) == 60 * SECOND and not incidents(cut)


def test_a_reserved_term_is_not_proven_either(rin: User, host: FakeHost, hours: Clock) -> None:
    sell(host)
    instance = order(rin, host, mode="reserved")
    host.settle()
    run_for(host, hours, 60)
    [term] = instance.terms.all()
    host.cut_off(instance)
    run_for(host, hours, 40)
    host.cut_off(instance, "")
    run_for(host, hours, 40)
    spans = Meter.objects.filter(source_id=term.pk).order_by("opened_at").values_list("opened_at", "proven_until")
    assert [round((until - since).total_seconds()) for since, until in spans] == [60, 20]


def test_another_code_or_state_cuts_nothing_off(rin: User, host: FakeHost, hours: Clock) -> None:
    """What a host says of an instance that should not run, or in words that are not known, is no more than silence."""
    instance = order(rin, host)
    host.sync()
    host.cut_off(instance)
    host.work()
    host.sync()
    waiting = reload(instance)
    assert waiting.cut_off_since is None and not incidents(instance)
    assert charged(instance.pk) == 0
