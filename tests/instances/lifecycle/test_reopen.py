"""What runs is metered again, whoever took its meter away; nothing is charged twice, nor for the time without a meter."""

import pytest

from accounts.models import User
from billing.audit.selectors import all_findings
from billing.metering.settle import extend_holds, settle_meters
from common import clock
from instances.enforcement.reopen_meters import reopen_meters
from instances.lifecycle.stop import stop_instance
from marketplace.models import Incident
from tests.billing.money import assert_sound, charged, execute, grant
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock

pytestmark = pytest.mark.django_db

RATE = 3_600_000
SABOTAGES = {
    "closed": "UPDATE billing_meter SET closed_at = proven_until",
    "capped": "UPDATE billing_meter SET capped_at = proven_until",
}


def run(host: FakeHost, hours: Clock, minutes: int) -> None:
    for _ in range(minutes):
        hours.advance(minutes=1)
        host.sync()
        extend_holds(now=clock.now())


@pytest.mark.parametrize("how", SABOTAGES)
def test_it_is_charged_before_and_after_and_not_between(rin: User, host: FakeHost, hours: Clock, how: str) -> None:
    instance = order_running(rin, host)
    run(host, hours, 10)
    execute(SABOTAGES[how])
    hours.advance(minutes=1)
    assert "I30" in {finding.code for finding in all_findings()}
    assert reopen_meters(now=clock.now()) == 1
    assert reopen_meters(now=clock.now()) == 0
    assert Incident.objects.filter(kind="unmetered_instance").count() == 1
    run(host, hours, 20)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    settle_meters(now=clock.now())
    assert reload(instance).state == "stopped"
    assert charged(instance.pk) == RATE * 30 // 60
    assert_sound(clock.now())


def test_what_cannot_be_paid_for_is_stopped(bob: User, host: FakeHost, hours: Clock) -> None:
    grant(bob, RATE)
    instance = order_running(bob, host)
    run(host, hours, 5)
    execute(SABOTAGES["closed"])
    assert reopen_meters(now=clock.now()) == 1
    assert reload(instance).state == "stopping"


def test_what_is_metered_or_stopping_is_left_alone(rin: User, host: FakeHost, hours: Clock) -> None:
    order_running(rin, host)
    stopping = order_running(rin, host)
    stop_instance(renter=rin, instance_id=stopping.pk)
    assert reopen_meters(now=clock.now()) == 0
    assert not Incident.objects.exists()
