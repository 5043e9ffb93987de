"""Races of the billing modes, in pairs: renewal and expiry, early end and renewal, change and stop, purge and start."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection

from accounts.models import User
from billing.models import Meter
from common import clock
from common.errors import DomainError
from instances.billing_mode.change_quotes import quote_change
from instances.billing_mode.convert import convert_instance, extend_instance
from instances.billing_mode.term_expiry import end_due_term
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, Term
from instances.release.services import expire_instance
from tests.billing.money import START, UNIT, grant, in_parallel, make_user
from tests.instances.fake_host import FakeHost, base_image, reload
from tests.instances.modes import assert_all_well, balance, market, rented, sell

ROUNDS = 4

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*works: Callable[[], object]) -> list[object]:
    """Each as a use case of its own; what is refused must be an error with a code."""
    found = in_parallel(list(works))
    for result in found:
        assert not isinstance(result, Exception) or isinstance(result, DomainError), result
    return found


@pytest.fixture
def world() -> tuple[User, FakeHost]:
    base_image()
    renter = make_user("renter")
    owner = make_user("owner")
    owner.is_host_owner = True
    owner.save()
    grant(renter, 10_000 * UNIT)
    with time_machine.travel(START, tick=False):
        host = FakeHost(owner)
        sell(host)
    return renter, host


def running(renter: User, host: FakeHost, mode: str, **wishes: Any) -> Instance:
    instance = rented(renter, host, mode, **wishes)
    host.settle()
    return reload(instance)


def quote_for(renter: User, instance: Instance, mode: str, **wishes: Any) -> Any:
    return quote_change(renter=renter, instance_id=instance.pk, billing_mode=mode, **wishes).pk


def sound(renter: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(balance_micros) FROM billing_wallet")
        assert cursor.fetchone() == (0,)
    assert_all_well()


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_a_renewal_races_the_end_of_its_term(world: tuple[User, FakeHost], attempt: int) -> None:
    renter, host = world
    with time_machine.travel(START, tick=False) as now:
        instance = running(renter, host, "reserved", term="day")
        now.shift(timedelta(days=1, seconds=-300))
        quote = quote_for(renter, instance, "reserved", term="day")
        now.shift(timedelta(seconds=300))
        renewed, _ = at_once(
            lambda: extend_instance(renter=renter, instance_id=instance.pk, quote_id=quote),
            lambda: end_due_term(instance_id=instance.pk, now=clock.now()),
        )
        terms = Term.objects.filter(instance=instance).count()
        if isinstance(renewed, Exception):
            assert (terms, reload(instance).billing_mode, market("escrow")) == (1, "hourly", 0)
        else:
            end_due_term(instance_id=instance.pk, now=clock.now())
            assert terms == 2
            assert reload(instance).billing_mode == "reserved"
            assert market("escrow") == 24 * 3_420_000
        sound(renter)


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_an_early_end_races_a_renewal(world: tuple[User, FakeHost], attempt: int) -> None:
    renter, host = world
    with time_machine.travel(START, tick=False):
        before = balance(renter)
        instance = running(renter, host, "reserved", term="week")
        renewal = quote_for(renter, instance, "reserved", term="day")
        leaving = quote_for(renter, instance, "hourly")
        at_once(
            lambda: extend_instance(renter=renter, instance_id=instance.pk, quote_id=renewal),
            lambda: convert_instance(renter=renter, instance_id=instance.pk, quote_id=leaving),
        )
        assert reload(instance).billing_mode == "hourly"
        assert not Term.objects.filter(instance=instance, state__in=["active", "next"]).exists()
        assert (market("escrow"), balance(renter)) == (0, before), "nothing was used"
        sound(renter)


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_a_change_races_a_stop(world: tuple[User, FakeHost], attempt: int) -> None:
    renter, host = world
    with time_machine.travel(START, tick=False) as now:
        instance = running(renter, host, "hourly")
        now.shift(timedelta(seconds=100))
        host.sync()
        quote = quote_for(renter, instance, "tiered")
        changed, stopped = at_once(
            lambda: convert_instance(renter=renter, instance_id=instance.pk, quote_id=quote),
            lambda: stop_instance(renter=renter, instance_id=instance.pk),
        )
        assert not isinstance(stopped, Exception), "a wish to stop is never lost"
        assert (reload(instance).billing_mode == "tiered") == (not isinstance(changed, Exception))
        assert not Meter.objects.filter(closed_at=None, capped_at=None).exists(), "the stop caps whatever meter is open"
        now.shift(timedelta(seconds=600))
        host.settle()
        assert reload(instance).state == "stopped"
        assert 10_000 * UNIT - balance(renter) <= 110 * 1_000 + 1, "100 s and the grace at most"
        sound(renter)


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_a_purge_races_a_start_with_a_disk(world: tuple[User, FakeHost], attempt: int) -> None:
    renter, host = world
    with time_machine.travel(START, tick=False) as now:
        instance = running(renter, host, "hourly", data_disk_gb=100)
        stop_instance(renter=renter, instance_id=instance.pk)
        host.settle()
        now.shift(timedelta(days=31))
        host.sync()
        started, purged = at_once(
            lambda: start_instance(renter=renter, instance_id=instance.pk), lambda: expire_instance(instance_id=instance.pk)
        )
        assert isinstance(started, Exception) == (purged is True)
        host.settle()
        after = reload(instance)
        assert after.state == ("gone" if purged else "running")
        assert Meter.objects.filter(closed_at=None, source_kind="disk").exists() == (after.state == "running")
        sound(renter)
