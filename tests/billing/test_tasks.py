"""The sweeps by the names that the beat schedule uses."""

import pytest
import time_machine
from celery import current_app

from accounts.models import User
from billing import tasks
from instances.tasks import charge_meters
from tests.billing.money import RATE, START, UNIT, Source, at, charged, grant, wallet


@pytest.mark.django_db
def test_the_sweeps_settle_and_renew(alice: User, hana: User) -> None:
    grant(alice, 100 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(minutes=59), renewed=False)
    with time_machine.travel(at(minutes=59, seconds=30), tick=False):
        tasks.extend_holds()
    assert wallet(alice).held_micros == 2 * RATE
    source.run(at(minutes=59), at(hours=1))
    with time_machine.travel(at(hours=1), tick=False):
        charge_meters()
    assert charged(source.key) == RATE


def test_the_names_are_registered() -> None:
    assert {"instances.charge_meters", "billing.extend_holds"} <= set(current_app.tasks)
