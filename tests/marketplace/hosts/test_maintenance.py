"""Maintenance: bounded when it is announced, no new rents while it lasts, rents again afterwards."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine

from accounts.models import User
from common import clock
from common.errors import IllegalTransition, InvalidInput, NotFound
from marketplace.constants import MAINTENANCE_MOST, MAINTENANCE_SPAN
from marketplace.errors import OfferClosed
from marketplace.hosts.maintenance import (
    advance_maintenance,
    announce_maintenance,
    cancel_maintenance,
    mark_renters_notified,
    too_many,
)
from marketplace.hosts.offers import check_offers, set_draining
from marketplace.models import Host, HostEvent, Maintenance, Offer
from tests.billing.money import START, at
from tests.instances.fake_host import refused
from tests.marketplace.shapes import leased, offer_of

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def now() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


def announce(host: Host, begin: datetime, hours: float = 4, **changes: Any) -> Maintenance:
    wanted = {"actor_id": host.owner_id, "category": "power", "detail": "UPS", **changes}
    return announce_maintenance(host_id=host.pk, starts_at=begin, ends_at=begin + timedelta(hours=hours), **wanted)


def refusal(host: Host, begin: datetime, hours: float = 4) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as caught, refused():
        announce(host, begin, hours)
    [wrong] = caught.value.errors
    return wrong.field, wrong.code


def turn() -> int:
    return advance_maintenance(now=clock.now())


def is_open(host: Host) -> bool:
    return offer_of(host).gpu_free > 0


def test_it_is_announced_and_written_down(host: Host) -> None:
    window = announce(host, at(days=1))
    assert (window.announced_at, window.starts_at, window.ends_at) == (START, at(days=1), at(days=1, hours=4))
    event = HostEvent.objects.filter(host=host).latest("id")
    assert (event.kind, event.detail) == ("maintenance_announced", "power: 2 Mar 09:30 UTC – 2 Mar 13:30 UTC")
    assert is_open(host)


def test_its_bounds_to_the_microsecond(host: Host) -> None:
    tick = timedelta(microseconds=1)
    assert refusal(host, at(days=1) - tick) == ("starts_at", "too_soon")
    assert refusal(host, at(days=-1)) == ("starts_at", "too_soon")
    assert refusal(host, at(days=90) + tick) == ("starts_at", "too_far")
    assert refusal(host, at(days=2), 0) == ("ends_at", "order")
    assert refusal(host, at(days=2), -1) == ("ends_at", "order")
    assert refusal(host, at(days=2), 12.001) == ("ends_at", "too_long")
    announce(host, at(days=1), 12)
    announce(host, at(days=90), 12)
    assert Maintenance.objects.count() == 2


def test_two_at_once_are_refused_and_one_after_the_other_are_not(host: Host) -> None:
    announce(host, at(days=2))
    assert refusal(host, at(days=2, hours=3)) == ("starts_at", "overlap")
    assert refusal(host, at(days=2, hours=-3)) == ("starts_at", "overlap")
    announce(host, at(days=2, hours=4))
    announce(host, at(days=2, hours=-4))


def test_five_in_thirty_days_are_one_too_many(host: Host) -> None:
    first = [announce(host, at(days=day)) for day in (2, 10, 20, 31)]
    assert refusal(host, at(days=25)) == ("starts_at", "too_many")
    cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=first[1].pk)
    announce(host, at(days=25))
    announce(host, at(days=2) + MAINTENANCE_SPAN)


@pytest.mark.parametrize("seed", range(50))
def test_the_bound_holds_for_every_span(seed: int) -> None:
    rng = random.Random(seed)
    begins: list[datetime] = []
    for _ in range(40):
        wanted = START + timedelta(hours=rng.randrange(0, 2400))
        if not too_many(begins, wanted):
            begins.append(wanted)
    assert all(sum(begin <= other < begin + MAINTENANCE_SPAN for other in begins) <= MAINTENANCE_MOST for begin in begins)


def test_nobody_elses(host: Host, mallory: User) -> None:
    with pytest.raises(NotFound):
        announce(host, at(days=2), actor_id=mallory.pk)
    window = announce(host, at(days=2))
    with pytest.raises(NotFound):
        cancel_maintenance(actor_id=mallory.pk, host_id=host.pk, maintenance_id=window.pk)
    with pytest.raises(NotFound), refused():
        cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=host.pk)


def test_new_rents_stop_at_its_beginning_and_come_back_at_its_end(host: Host, now: time_machine.Traveller) -> None:
    announce(host, at(days=2))
    now.shift(2 * DAY - timedelta(seconds=1))
    assert turn() == 0
    now.shift(timedelta(seconds=1))
    assert (turn(), turn()) == (1, 0)
    assert not is_open(host)
    with pytest.raises(OfferClosed):
        leased(offer_of(host), 1)
    now.shift(timedelta(hours=4))
    assert (turn(), turn()) == (1, 0)
    assert is_open(host)
    kinds = list(HostEvent.objects.filter(host=host).order_by("id").values_list("kind", flat=True))
    assert kinds[-3:] == ["maintenance_announced", "maintenance_begun", "maintenance_over"]
    assert check_offers(repair=False) == []


def test_what_the_owner_drained_stays_drained(host: Host, now: time_machine.Traveller) -> None:
    announce(host, at(days=2))
    set_draining(actor_id=host.owner_id, host_id=host.pk, draining=True)
    now.shift(2 * DAY)
    turn()
    now.shift(timedelta(hours=5))
    turn()
    assert Host.objects.get().draining


def test_one_after_the_other_leaves_no_gap(host: Host, now: time_machine.Traveller) -> None:
    announce(host, at(days=2))
    announce(host, at(days=2, hours=4))
    now.shift(2 * DAY)
    turn()
    now.shift(timedelta(hours=4))
    assert turn() == 2
    assert not is_open(host)
    now.shift(timedelta(hours=4))
    turn()
    assert is_open(host)


def test_called_off_before_it_never_begins(host: Host, now: time_machine.Traveller) -> None:
    window = announce(host, at(days=2))
    for _ in range(2):
        done = cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=window.pk)
        assert done.cancelled_at == START
    now.shift(2 * DAY)
    assert turn() == 0
    assert is_open(host)


def test_ended_early_the_host_is_open_at_once(host: Host, now: time_machine.Traveller) -> None:
    window = announce(host, at(days=2))
    now.shift(2 * DAY)
    turn()
    now.shift(timedelta(hours=1))
    cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=window.pk)
    assert is_open(host)
    now.shift(timedelta(hours=9))
    assert turn() == 0


def test_what_is_over_cannot_be_called_off(host: Host, now: time_machine.Traveller) -> None:
    window = announce(host, at(days=2))
    now.shift(3 * DAY)
    with pytest.raises(IllegalTransition), refused():
        cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=window.pk)
    assert turn() == 1  # no sweep has seen it: it is closed in the books, and the host was never drained
    assert is_open(host)
    assert not Offer.objects.filter(draining=True).exists()


def test_renters_are_told_once_of_it_and_once_of_its_end(host: Host) -> None:
    window = announce(host, at(days=2))
    assert mark_renters_notified(maintenance_id=window.pk)
    assert not mark_renters_notified(maintenance_id=window.pk)
    cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=window.pk)
    assert mark_renters_notified(maintenance_id=window.pk)
    unheard = announce(host, at(days=3))
    cancel_maintenance(actor_id=host.owner_id, host_id=host.pk, maintenance_id=unheard.pk)
    assert not mark_renters_notified(maintenance_id=unheard.pk)
