"""Thirty virtual days, 500 bidders, 100 GPUs: after every step the market is what its definition says it is."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.db.models import Exists, F, OuterRef

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.metering.settle import extend_holds, settle_meters
from common import clock
from common.errors import IllegalTransition, InvalidInput
from instances.constants import SPOT_NOTICE, SPOT_REST, SPOT_RUN_AT_LEAST
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent, SpotBid
from instances.release.services import release_instance
from instances.spot.bid_changes import change_bid
from instances.spot.market_tick import tick_offer
from instances.states import BidState
from marketplace.errors import GpuTaken
from marketplace.hosts.offers import check_offers
from marketplace.models import Claim, Lease, Offer
from marketplace.pricing.prices import spot_price_micros
from marketplace.spot_market.clearing import Bid
from storage.models import Image
from tests.billing.funding import grant_all
from tests.billing.money import UNIT
from tests.instances.fake_host import FakeHost, order, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.spot.bidders import bid, with_spot
from tests.marketplace.spot_definition import defined
from tests.profiles import examples
from tests.roles import analyze

DAYS, BIDDERS, HOSTS, GPUS = examples(8, long=30), examples(130, long=500), 5, 20
FLOOR = 500_000
MOMENTS = 4 * DAYS  # at which people do something, about seven of them together
HOLDS = (BidState.HOLDING, BidState.NOTICE)
MOVING = ("requested", "provisioning", "starting", "stopping", "releasing")
# What happens by itself: a notice is over, a rest is over, a minimum run time is over for which a higher bid waits.
NEXT = (
    ("yields_at", BidState.NOTICE, timedelta(0)),
    ("resumes_from", BidState.WAITING, timedelta(0)),
    ("held_since", BidState.HOLDING, SPOT_RUN_AT_LEAST),
)
OUTBID = Exists(
    SpotBid.objects.filter(
        offer=OuterRef("offer"), state=BidState.WAITING, max_price_micros__gt=OuterRef("max_price_micros")
    )
)


@dataclass
class Market:
    """The hosts, who bids on them, and what has been seen."""

    chance: random.Random
    hosts: list[FakeHost]
    bidders: list[User]
    orderer: User
    rented: list[Instance] = field(default_factory=list)
    ordered: list[tuple[datetime, Instance, int]] = field(default_factory=list)
    steps: int = 0
    waited: int = 0
    refusals: int = 0

    # -- what people do

    def someone_bids(self) -> FakeHost:
        host = self.chance.choice(self.hosts)
        most = self.chance.choice([0.50, 0.75, 1.00, 1.00, 1.50, 2.00, 2.50, 3.00]) + self.chance.randint(0, 9) / 100
        gpus = self.chance.choice([1, 1, 1, 2, 2, 4, 8])
        self.rented.append(bid(self.bidders.pop(), host, most, gpus=gpus, tick=False))
        return host

    def someone_changes(self) -> FakeHost:
        instance = self.chance.choice(self.rented)
        most = round(SpotBid.objects.get(pk=instance.pk).max_price_micros * self.chance.choice([0.6, 0.9, 1.2, 2]))
        with refused_quietly():
            change_bid(renter=instance.renter, instance_id=instance.pk, max_price_micros=most)
        return self.host_of(instance)

    def someone_leaves(self) -> FakeHost:
        instance = self.chance.choice(self.rented)
        leave = self.chance.choice([stop_instance, release_instance])
        with refused_quietly():
            leave(renter=instance.renter, instance_id=instance.pk)
        return self.host_of(instance)

    def someone_starts_again(self) -> FakeHost:
        stopped = Instance.objects.filter(billing_mode="spot", state="stopped").order_by("pk").select_related("renter")
        if not stopped:
            return self.hosts[0]
        instance = self.chance.choice(list(stopped))
        start_instance(renter=instance.renter, instance_id=instance.pk)
        return self.host_of(instance)

    def someone_orders(self) -> FakeHost:
        """By the hour: refused only when even all spot rents together could not make room."""
        host, count = self.chance.choice(self.hosts), self.chance.choice([1, 2, 4, 6])
        can_be_had = free(host) + len(spot_leases(host)) - claimed(host)
        try:
            with refused():
                instance = order(self.orderer, host, gpu_count=count)
        except GpuTaken:
            assert can_be_had < count
            self.refusals += 1
            return host
        assert can_be_had >= count
        self.ordered.append((clock.now(), instance, count))
        self.waited += reload(instance).state == "waiting"
        return host

    def someone_ends_an_order(self) -> FakeHost:
        living = Instance.objects.filter(billing_mode="hourly", state__in=["waiting", "running"]).order_by("pk")
        if not living:
            return self.hosts[0]
        instance = self.chance.choice(list(living))
        release_instance(renter=self.orderer, instance_id=instance.pk)
        return self.host_of(instance)

    def host_of(self, instance: Instance) -> FakeHost:
        return next(host for host in self.hosts if host.host.pk == instance.host_id)

    # -- what follows

    def step(self, host: FakeHost) -> None:
        """A tick; while something moves on the host, its agent's work and the tick that follows a release."""
        tick_offer(offer_id=host.offer.pk)
        self.check(host)
        while Instance.objects.filter(host=host.host, state__in=MOVING).exists():
            host.settle()
            tick_offer(offer_id=host.offer.pk)
            self.check(host)
        self.steps += 1

    def check(self, host: FakeHost) -> None:
        """Allocation and price are the definition's; money follows the price; an order waits no longer than it must."""
        now, offer = clock.now(), Offer.objects.get(pk=host.offer.pk)
        standing = SpotBid.objects.filter(offer=offer).exclude(state="ended")
        rows = {row.pk: row for row in standing.annotate(rate=F("instance__rate_micros_per_hour"))}
        holders = {key for key, row in rows.items() if row.state in HOLDS}
        leases = Lease.objects.filter(offer=offer, released_at=None).values_list("holder", "spot")
        held, claims = [holder for holder, yields in leases if yields], list(Claim.objects.filter(offer=offer))
        idle = GPUS - len(leases)
        room = idle - sum(claim.gpu_count for claim in claims)
        supply = max(0, room + len(held))
        winners, price, pays = defined([entry(row, now) for row in rows.values()], supply, FLOOR)
        assert {key for key in holders if rows[key].state == BidState.HOLDING} == holders & winners
        assert spot_price_micros(floor_micros=FLOOR, now_micros=offer.spot_now_micros) == price
        for key in holders:
            assert rows[key].price_micros == pays[key] <= rows[key].max_price_micros
            assert rows[key].rate == pays[key] * rows[key].gpu_count
            assert held.count(key) == rows[key].gpu_count
        waiting = [rows[key].gpu_count for key in winners - holders]
        assert all(gpus > max(0, room) for gpus in waiting)
        assert not claims or min(claims, key=lambda claim: (claim.made_at, claim.pk)).gpu_count > idle

    def next_due(self) -> tuple[datetime, FakeHost] | None:
        """The next moment at which something happens by itself."""
        now, due = clock.now(), []
        for name, state, delay in NEXT:
            rows = SpotBid.objects.filter(state=state, **{f"{name}__gt": now - delay}).order_by(name)
            rows = rows.filter(OUTBID) if delay else rows
            due += [(at + delay, offer) for at, offer in rows.values_list(name, "offer_id")[:1]]
        if not due:
            return None
        at, offer_id = min(due)
        return at, next(host for host in self.hosts if host.offer.pk == offer_id)


def refused_quietly() -> "Quietly":
    return Quietly()


class Quietly:
    """People also ask for what cannot be: it is refused, and nothing has changed."""

    def __enter__(self) -> None:
        self.block = refused()
        self.block.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self.block.__exit__(kind, error, trace)  # type: ignore[arg-type]
        return kind is not None and issubclass(kind, (IllegalTransition, InvalidInput))


def entry(row: SpotBid, now: datetime) -> Bid:
    """A bid as the definition sees it, from its row alone."""
    holds = row.state in HOLDS
    return Bid(
        key=row.pk,
        max_micros=row.max_price_micros,
        placed_at=row.placed_at,
        gpus=row.gpu_count,
        holds=holds,
        sits=holds and row.held_since is not None and now - row.held_since < SPOT_RUN_AT_LEAST,
        began_at_micros=row.floor_micros if holds else None,
        rests=not holds and (row.state == BidState.YIELDING or (row.resumes_from is not None and now < row.resumes_from)),
    )


def spot_leases(host: FakeHost) -> list[object]:
    live = Lease.objects.filter(offer=host.offer, released_at=None, spot=True)
    return list(live.values_list("holder", flat=True))


def free(host: FakeHost) -> int:
    return GPUS - Lease.objects.filter(offer=host.offer, released_at=None).count()


def claimed(host: FakeHost) -> int:
    return sum(Claim.objects.filter(offer=host.offer).values_list("gpu_count", flat=True))


@pytest.fixture
def market(hours: Clock, hana: User, bob: User, image: Image) -> Iterator[Market]:
    chance = random.Random(20_260_101)
    hosts = [with_spot(FakeHost(hana, gpus=GPUS, ports=3_000)) for _ in range(HOSTS)]
    bidders = User.objects.bulk_create(User(email=f"bidder-{number}@example.com") for number in range(BIDDERS))
    fund(bob, bidders)
    yield Market(chance, hosts, bidders, bob)


def fund(orderer: User, bidders: list[User]) -> None:
    """1,000.00 for each bidder."""
    grant_all([(orderer, 1_000_000 * UNIT), *((bidder, 1_000 * UNIT) for bidder in bidders)])


@pytest.mark.timeout(1500)  # about a minute, and far more on a machine that does other work
@pytest.mark.django_db(transaction=True)  # in one transaction nothing is pruned: each row would drag its past along
def test_days_of_bidders_on_100_gpus(market: Market, hours: Clock) -> None:
    chance, began = market.chance, clock.now()
    analyze()
    deeds = [market.someone_bids] * (BIDDERS - 1)
    some = BIDDERS // 25
    deeds += [market.someone_changes] * 4 * some + [market.someone_leaves] * 4 * some + [market.someone_starts_again] * some
    deeds += [market.someone_orders] * 4 * some + [market.someone_ends_an_order] * 3 * some
    chance.shuffle(deeds)
    market.someone_bids()
    moments = sorted(began + timedelta(days=DAYS) * chance.random() for _ in range(MOMENTS))
    for number, moment in enumerate(moments):
        run_until(market, hours, moment)
        touched = {id(host): host for host in (deed() for deed in deeds[number::MOMENTS])}
        for host in touched.values():
            market.step(host)
    run_until(market, hours, began + timedelta(days=DAYS))
    settle_meters(now=clock.now())

    check_events(began)
    late = clock.now() - timedelta(minutes=5)
    assert not Instance.objects.filter(billing_mode="hourly", state="waiting", created_at__lt=late).exists()
    assert market.waited > BIDDERS // 25
    assert Instance.objects.count() > BIDDERS
    analyze()
    assert ledger_findings() == []
    assert check_offers(repair=False) == []
    assert compare_leases() == 0
    check_quiet(market, hours)


def run_until(market: Market, hours: Clock, moment: datetime) -> None:
    """What happens by itself before `moment`, each thing at its own time."""
    while (due := market.next_due()) is not None and due[0] <= moment:
        hours.advance(seconds=(due[0] - clock.now()).total_seconds())
        market.step(due[1])
    hours.advance(seconds=(moment - clock.now()).total_seconds())


def check_events(began: datetime) -> None:
    """Notice was always kept, and nobody was stopped and started by the minute."""
    story: dict[object, list[tuple[str, datetime]]] = {}
    kinds = ["bid_won", "preempt_notice", "preempt_taken_back", "preempted"]
    for event in InstanceEvent.objects.filter(kind__in=kinds).order_by("id"):
        story.setdefault(event.instance_id, []).append((event.kind, event.at))
    preempted = 0
    for line in story.values():
        for (kind, at), (after, then) in pairwise(line):
            if after == "preempted":
                assert kind == "preempt_notice"
                assert then - at >= SPOT_NOTICE
                preempted += 1
            if kind == "preempted":
                assert after == "bid_won"
                assert then - at >= SPOT_REST
            if kind == "bid_won":
                assert after in ("preempt_notice", "bid_won")  # the latter: stopped by its renter, and started again
    assert preempted > 50


def check_quiet(market: Market, hours: Clock) -> None:
    """When nobody does anything any more, nothing happens any more either."""
    for _ in range(3):
        hours.advance(minutes=20)
        for host in market.hosts:
            market.step(host)
    before = InstanceEvent.objects.count()
    for _ in range(5):
        hours.advance(minutes=7)
        for host in market.hosts:
            market.step(host)
    assert InstanceEvent.objects.count() == before
    extend_holds(now=clock.now())
