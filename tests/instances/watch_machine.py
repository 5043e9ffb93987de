"""Random histories of the wait list, with a plain Python model beside them that says who must have got what."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

import time_machine
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from accounts.models import User
from billing.models import Hold, Wallet
from common import clock
from instances.enforcement.sweeps import compare_leases, compare_watch_holds
from instances.models import Instance, Watch
from instances.wait_list.entries import EntryOrder
from instances.wait_list.selectors import entries_of
from instances.wait_list.wait_list import cancel_entry, create_entry, serve_entries
from marketplace.hosts.offers import set_price
from tests.billing.money import START, UNIT
from tests.instances.fake_host import FakeHost, marked_block, order

MOST_PLACES = 15
MODELS = ("rtx-4090", "l4")
PRICES = (1 * UNIT, 2 * UNIT, 3 * UNIT)


@dataclass
class Place:
    """One place as the model knows it. `line` in its parts: model or any, how many GPUs, at most which price."""

    key: UUID
    user: User
    action: str
    model: str
    count: int
    most: int
    until: datetime
    state: str = "waiting"
    got: str = ""
    paid: int = 0

    def fits(self, stall: "Stall") -> bool:
        return self.model in ("", stall.model) and self.count <= stall.free and stall.price <= self.most


@dataclass
class Stall:
    """One host's offer as the model knows it."""

    host: FakeHost
    model: str
    free: int
    price: int


@dataclass
class Model:
    """The wait list in the simplest words: in order, each takes the cheapest that fits, and nobody is passed over."""

    stalls: list[Stall]
    places: list[Place] = field(default_factory=list)

    def serve(self, now: datetime) -> None:
        for place in self.waiting():
            if place.until <= now:
                place.state = "expired"
        for place in self.waiting():
            fitting = [stall for stall in self.stalls if place.fits(stall)]
            if not fitting:
                continue
            best = min(fitting, key=lambda stall: (stall.price, stall.host.offer.pk))
            place.state, place.got = ("told" if place.action == "tell" else "rented"), best.host.host.name
            if place.action == "rent":
                best.free -= place.count
                place.paid = best.price * place.count

    def waiting(self) -> list[Place]:
        return [place for place in self.places if place.state == "waiting"]

    def held(self, user: User) -> int:
        mine = [place for place in self.places if place.user == user and place.action == "rent"]
        waits = sum(place.most * place.count for place in mine if place.state == "waiting")
        return waits + sum(place.paid for place in mine)


class WaitListMachine(RuleBasedStateMachine):
    """The world is made once; each example runs in a savepoint of its own and is taken back."""

    world: ClassVar[Callable[[], tuple[list[User], User, list[FakeHost]]]]

    def __init__(self) -> None:
        super().__init__()
        self.travel = time_machine.travel(START, tick=False)
        self.now = self.travel.start()
        self.block = marked_block()
        self.block.__enter__()
        self.users, self.other, hosts = type(self).world()
        self.model = Model([Stall(host, host.offer.gpu_model, host.gpus, host.offer.price_micros) for host in hosts])

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.block.__exit__(None, None, None)
        self.travel.stop()

    @precondition(lambda self: len(self.model.places) < MOST_PLACES)
    @rule(
        who=st.integers(0, 2),
        action=st.sampled_from(["tell", "rent", "rent"]),
        model=st.sampled_from(["", *MODELS]),
        count=st.integers(1, 3),
        most=st.sampled_from(PRICES),
        hours=st.sampled_from([1, 24]),
    )
    def take_a_place(self, *, who: int, action: str, model: str, count: int, most: int, hours: int) -> None:
        user, lifetime = self.users[who], timedelta(hours=hours)
        line = f"count={count} {f'gpu={model}' if model else ''}"
        wants = EntryOrder(image="berth-base", max_price_micros=most)
        watch = create_entry(user=user, line=line, action=action, order=wants, lifetime=lifetime)
        self.model.places.append(Place(watch.pk, user, action, model, count, most, clock.now() + lifetime))

    @precondition(lambda self: self.model.waiting())
    @rule(index=st.integers(0, MOST_PLACES))
    def cancel(self, index: int) -> None:
        place = self.model.waiting()[index % len(self.model.waiting())]
        cancel_entry(user=place.user, watch_id=place.key)
        place.state = "cancelled"

    @rule(stall=st.integers(0, 2), count=st.integers(1, 2))
    def someone_else_rents(self, stall: int, count: int) -> None:
        """Straight from the market, past the list."""
        chosen = self.model.stalls[stall]
        if chosen.free >= count:
            order(self.other, chosen.host, gpu_count=count)
            chosen.free -= count

    @rule(stall=st.integers(0, 2), price=st.sampled_from(PRICES))
    def change_the_price(self, stall: int, price: int) -> None:
        chosen = self.model.stalls[stall]
        set_price(actor_id=chosen.host.owner.pk, offer_id=chosen.host.offer.pk, price_micros=price)
        chosen.price = price

    @rule(hours=st.sampled_from([0, 0, 1, 12]))
    def serve(self, hours: int) -> None:
        self.now.shift(timedelta(hours=hours))
        serve_entries(now=clock.now())
        self.model.serve(clock.now())

    @invariant()
    def each_has_what_the_model_says(self) -> None:
        watches = {watch.pk: watch for watch in Watch.objects.select_related("instance__host", "offer__host")}
        for place in self.model.places:
            watch = watches[place.key]
            served = watch.offer.host.name if watch.offer else ""
            assert (watch.state, served) == (place.state, place.got)
            assert (watch.instance is not None) == (place.state == "rented")
            if watch.instance:
                assert watch.instance.rate_micros_per_hour == place.paid
        assert Instance.objects.exclude(renter=self.other).count() == sum(bool(place.paid) for place in self.model.places)

    @invariant()
    def the_money_is_where_the_model_says(self) -> None:
        for user in self.users:
            assert Wallet.objects.get(owner=user, kind="renter").held_micros == self.model.held(user)
        assert compare_watch_holds() == 0
        assert compare_leases() == 0
        kinds = Hold.objects.filter(released_at=None).values_list("source_kind", flat=True)
        assert set(kinds) <= {"watch", "instance"}

    @invariant()
    def everyone_knows_who_is_ahead(self) -> None:
        waiting = [place.key for place in self.model.waiting()]
        for user in self.users:
            for watch in entries_of(user).filter(state="waiting"):
                assert watch.ahead == waiting.index(watch.pk)  # type: ignore[attr-defined]  # annotated
