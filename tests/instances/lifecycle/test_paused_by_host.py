"""A host whose owner pauses a rented container or lowers its limits: it earns nothing by that, however it is timed."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from accounts.models import User
from common import clock
from common.ids import public_id
from instances.core.observations import ObservedRow
from instances.lifecycle.cut_off import CODES
from instances.lifecycle.stop import stop_instance
from instances.models import Alert, Instance, InstanceEvent
from instances.states import Desired
from marketplace.models import Incident, ReliabilityEvent
from tests.billing.money import assert_sound, charged
from tests.instances.fake_host import FakeHost, FakeReport, order_running, reload
from tests.instances.fixtures import Clock
from tests.profiles import examples

SECOND = 1_000  # micro-units: 3.60 an hour
BRIDGE = 120


def run_for(host: FakeHost, hours: Clock, seconds: int) -> None:
    for _ in range(seconds // 5):
        hours.advance(seconds=5)
        host.sync()


def stopped(rin: User, host: FakeHost, instance: Instance) -> Instance:
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def open_kinds(instance: Instance) -> tuple[list[str], list[str]]:
    """Its open incidents and alerts."""
    incidents = Incident.objects.filter(subject=public_id("inst", instance.pk), closed_at=None)
    alerts = Alert.objects.filter(instance=instance, resolved_at=None)
    return list(incidents.values_list("kind", flat=True)), list(alerts.values_list("kind", flat=True))


def faults(host: FakeHost) -> list[str]:
    return list(ReliabilityEvent.objects.filter(host=host.host, kind="host_fault").values_list("detail", flat=True))


def test_fault_031_a_loop_of_pauses_is_paid_for_the_running_seconds_alone(rin: User, host: FakeHost, hours: Clock) -> None:
    """The loop that was once paid in full: 110 s paused, 5 s running, each gap short enough to be bridged."""
    instance = order_running(rin, host)
    ran = 0
    for _ in range(10):
        host.pause(instance)
        host.sync()  # the agent reports a pause at once
        run_for(host, hours, 110)
        host.cut_off(instance, "")
        host.sync()
        run_for(host, hours, 5)
        ran += 5
    stopped(rin, host, instance)
    assert charged(instance.pk) == ran * SECOND
    assert_sound()
    assert faults(host) == ["paused"], "once for each run"


def test_one_report_of_a_pause_that_is_over_bridges_nothing(rin: User, host: FakeHost, hours: Clock) -> None:
    """An agent whose link was cut meanwhile tells of it afterwards: between the proofs around it nothing is charged."""
    instance = order_running(rin, host)
    run_for(host, hours, 20)
    hours.advance(seconds=100)
    host.pause(instance)
    host.sync()
    host.cut_off(instance, "")
    host.sync()
    run_for(host, hours, 10)
    stopped(rin, host, instance)
    assert charged(instance.pk) == (20 + 10) * SECOND


@pytest.mark.parametrize("seed", range(examples(4, long=8)))
def test_any_mixture_is_charged_as_an_independent_sum_says(rin: User, host: FakeHost, hours: Clock, seed: int) -> None:
    """What is between two proofs of running, with no other report in between and no long silence, and nothing else."""
    dice = random.Random(seed)
    instance = order_running(rin, host)
    log = [(clock.now(), "running")]
    for _ in range(60):
        hours.advance(seconds=dice.choice([1, 5, 20, 60, 119, 121, 200]))
        reported = dice.choice(["running", "running", *CODES])
        host.cut_off(instance, "" if reported == "running" else "Something was done on the host.", reported)
        host.sync()
        log.append((clock.now(), reported))
    host.cut_off(instance, "")
    host.sync()
    log.append((clock.now(), "running"))
    stopped(rin, host, instance)
    gaps = [((after - before).total_seconds(), {one, other}) for (before, one), (after, other) in pairwise(log)]
    assert charged(instance.pk) == SECOND * sum(gap for gap, reported in gaps if reported == {"running"} and gap <= BRIDGE)
    assert_sound()


@pytest.mark.parametrize("code", ["paused", "throttled"])
def test_its_renter_and_the_operator_are_told_until_it_is_over(rin: User, host: FakeHost, hours: Clock, code: str) -> None:
    instance = order_running(rin, host)
    host.cut_off(instance, "Something was done on the host.", code)
    host.sync()
    marked = reload(instance)
    assert (marked.state, marked.cut_off_since, marked.cut_off_by) == ("running", clock.now(), code)
    assert open_kinds(instance) == ([code], [code])
    assert Alert.objects.get(instance=instance).fault_of == "host"
    assert InstanceEvent.objects.filter(instance=instance, kind=f"alert_{code}").exists()
    host.cut_off(instance, "")
    run_for(host, hours, 5)
    assert (reload(instance).cut_off_since, reload(instance).cut_off_by) == (None, "")
    assert open_kinds(instance) == ([], [])


def test_another_reason_takes_the_place_of_the_first(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    host.cut_off(instance)
    host.sync()
    since = reload(instance).cut_off_since
    run_for(host, hours, 20)
    host.pause(instance)
    host.sync()
    assert (reload(instance).cut_off_since, reload(instance).cut_off_by) == (since, "paused")
    assert open_kinds(instance) == (["paused"], ["paused"])
    stopped(rin, host, instance)
    assert open_kinds(instance) == ([], []) and charged(instance.pk) == 0


@pytest.mark.parametrize(
    "lie",
    [
        {"failure_code": "frozen"},  # a code that is not known
        {"phase": "running"},  # a code that does not fit the phase
        {"generation": 7},
        {"generation": 0},
    ],
)
def test_a_report_that_makes_no_sense_marks_nothing(rin: User, host: FakeHost, hours: Clock, lie: dict[str, object]) -> None:
    instance = order_running(rin, host)
    row = ObservedRow(
        id=instance.pk, generation=instance.run_generation, phase="unknown", failure_code="paused", detail=None
    )
    hours.advance(seconds=5)
    host.deliver(FakeReport((replace(row, **lie),), ()))  # type: ignore[arg-type]  # one field each
    assert reload(instance).cut_off_since is None and faults(host) == []
    assert reload(instance).desired == Desired.RUNNING
