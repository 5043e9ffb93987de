"""The control plane's clock jumps, and nobody is charged, stopped or deleted by it (fault 58)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from celery import current_app
from celery.exceptions import Ignore
from pytest_django import Settings

from accounts.models import User
from billing.models import Meter, Usage
from common import clock, clock_guard
from common.clock_guard import MOST_S, STEADY_S, ClockGuard
from common.messages.rendering import english
from instances.host_reports.reconcile import observe_report
from instances.states import InstanceState
from marketplace.models import Incident
from tests.billing.money import UNIT, assert_sound, grant
from tests.instances.fake_host import FakeHost, base_image, order_running, reload

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def rin(alice: User, guarded: None) -> User:
    """A renter with money, by a clock that goes as it goes."""
    grant(alice, 1000 * UNIT)
    return alice


@pytest.fixture
def host(hana: User, guarded: None) -> FakeHost:
    base_image()
    return FakeHost(hana)


@pytest.fixture
def guarded(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As outside tests, and looked at each time."""
    settings.CLOCK_GUARD = True
    monkeypatch.setattr(clock_guard, "_guard", ClockGuard())
    monkeypatch.setattr(clock_guard, "_LOOKED_EVERY_S", 0.0)
    monkeypatch.setattr(clock_guard, "_last", [])
    yield


def report(host: FakeHost) -> None:
    """What has been seen, without the host's own row, which a wrong time would change too."""
    reported = host.report()
    observe_report(host_id=host.host.pk, rows=reported.rows, absent=reported.absent, foreign=(), at=clock.now())


@pytest.mark.django_db
@pytest.mark.parametrize("jump", [timedelta(days=31), timedelta(days=-1), timedelta(minutes=6)])
def test_fault_058_a_clock_that_jumps_meters_and_sweeps_nothing(rin: User, host: FakeHost, jump: timedelta) -> None:
    """A month forwards would stop what is paid for and delete what is kept; a day backwards would prove the past."""
    current_app.loader.import_default_modules()
    instance = order_running(rin, host)
    report(host)
    before = Meter.objects.values().get()
    with time_machine.travel(clock.now() + jump):
        report(host)
        for name in (
            "instances.charge_meters",
            "billing.extend_holds",
            "instances.stop_exhausted",
            "instances.purge_expired",
        ):
            with pytest.raises(Ignore):
                current_app.tasks[name]()
        assert Meter.objects.values().get() == before
        assert reload(instance).state == InstanceState.RUNNING
    assert not Usage.objects.exists()
    incident = Incident.objects.get(kind="clock_jumped")
    assert "PostgreSQL differ by" in incident.detail
    Incident.objects.all().delete()
    report(host)
    assert Meter.objects.values().get() == before, "set right again, it is watched for a while"
    with pytest.raises(Ignore):
        current_app.tasks["instances.charge_meters"]()
    assert "jumped by" in Incident.objects.get().detail


@pytest.mark.django_db
def test_a_steady_clock_meters_and_sweeps(rin: User, host: FakeHost) -> None:
    order_running(rin, host)
    before = Meter.objects.get().proven_until
    report(host)
    assert Meter.objects.get().proven_until > before
    current_app.tasks["instances.charge_meters"]()
    assert not Incident.objects.filter(kind="clock_jumped").exists()
    assert_sound()


@pytest.mark.parametrize("jump", [MOST_S + 1, -MOST_S - 1])
def test_a_jump_is_watched_until_the_clock_has_run_evenly(jump: float) -> None:
    """By the machine's own count of seconds, also where PostgreSQL's clock has jumped with it."""
    guard = ClockGuard()

    def trouble(counted: float, jumped: float = 0.0) -> str:
        wall_clock = NOON + timedelta(seconds=counted + jumped)
        return english(guard.trouble(wall=wall_clock, counted_s=counted, database=wall_clock))

    assert trouble(0) == ""
    assert f"jumped by {jump:.0f} s" in trouble(10, jump)
    assert trouble(STEADY_S, jump) != ""
    assert trouble(10 + STEADY_S, jump) == ""


def test_small_corrections_and_slow_passes_are_no_jumps() -> None:
    guard = ClockGuard()
    for counted, ahead in ((0.0, 0.0), (5_000.0, MOST_S - 1), (90_000.0, 0.0)):
        wall_clock = NOON + timedelta(seconds=counted + ahead)
        assert guard.trouble(wall=wall_clock, counted_s=counted, database=wall_clock) is None
