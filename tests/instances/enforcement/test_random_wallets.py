"""A thousand random wallets run dry under the real services and sweeps: never below zero, always stopped at the end of
what is held, never before. Compared tick by tick with a model of a few lines that knows integers alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import pytest
import time_machine
from django.db import connection

from accounts.models import User
from billing.constants import INSTANCE_SOURCE
from billing.metering.costs import costs_of
from billing.metering.meters import prove_meters
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Hold, Meter, Wallet
from common.db.transactions import use_case
from common.money import format_money
from instances.enforcement.sweeps import stop_exhausted
from instances.models import Instance, InstanceEvent
from marketplace.models import Host, Lease
from storage.models import Image
from tests.billing.funding import grant_all
from tests.billing.money import START, assert_sound, grant
from tests.instances.fake_host import FakeHost, order
from tests.profiles import examples
from tests.roles import analyze

WALLETS = examples(300, long=1_000)
HOSTS = 28
GPUS = 60
HOUR = timedelta(hours=1)
LEAD = timedelta(seconds=60)
TICK = timedelta(seconds=100)  # proofs bridge 120 seconds; in production the sweeps run every 15
LAST = 3 * HOUR

# What each wallet still has when all that it is charged for and not posted is taken off.
_LIVE = """
SELECT count(*) FROM billing_wallet wallet
WHERE wallet.kind = 'renter' AND (wallet.balance_micros < wallet.held_micros OR wallet.balance_micros < (
    SELECT COALESCE(sum(billing_meter_cost(meter, GREATEST(settled_until, billing_meter_end(meter, %(now)s)))
                        - billing_meter_cost(meter, settled_until)), 0)
    FROM billing_meter meter WHERE payer_id = wallet.id AND NOT is_finished))
"""


@dataclass
class Run:
    """One instance in the model: which hour it has money for, and when it has to be stopped."""

    key: UUID
    rate: int
    opened: datetime
    hours: int = 1
    stopped: datetime | None = None

    @property
    def funded(self) -> datetime:
        return self.opened + self.hours * HOUR


@dataclass
class Purse:
    """One wallet in the model."""

    owner: User
    spendable: int
    granted: int
    top_ups: dict[int, int] = field(default_factory=dict)  # number of the tick → micro-units
    runs: list[Run] = field(default_factory=list)

    def tick(self, moment: datetime) -> None:
        """Who runs out first is renewed first; what nobody can pay ends."""
        for run in sorted(self.running(), key=lambda run: (run.funded, run.key)):
            if run.funded <= moment + LEAD and self.spendable >= run.rate:
                self.spendable -= run.rate
                run.hours += 1
        for run in self.running():
            if run.funded <= moment and self.spendable < run.rate:
                run.stopped = moment

    def running(self) -> list[Run]:
        return [run for run in self.runs if run.stopped is None]

    @property
    def left(self) -> int:
        return self.granted - sum(run.hours * run.rate for run in self.runs)


class Town:
    """Hosts, renters and their instances, all at the mercy of one clock."""

    def __init__(self, hana: User, random: Random, clock: time_machine.Traveller) -> None:
        self.random, self.clock, self.now = random, clock, START
        prices = [random.randrange(100_001, 9_999_999) for _ in range(HOSTS)]
        self.hosts = [FakeHost(hana, gpus=GPUS, price=format_money(micros)) for micros in prices]
        self.free = [host for host in self.hosts for _ in range(GPUS)]
        random.shuffle(self.free)
        chosen = [self.renter(number) for number in range(WALLETS)]
        self.purses = [purse for purse, _ in chosen]
        grant_all([(purse.owner, purse.granted) for purse in self.purses])
        for number, (purse, hosts) in enumerate(chosen):
            self.rent(purse, hosts, f"box-{number}")

    def renter(self, number: int) -> tuple[Purse, list[FakeHost]]:
        """For one to three instances money for the first hour and anything up to two more, and top-ups now and then."""
        random = self.random
        owner = User.objects.create(email=f"renter-{number}@example.com")
        hosts = [self.free.pop() for _ in range(random.choice((1, 1, 1, 1, 2, 3)))]
        burn = sum(host.offer.price_micros for host in hosts)
        granted = burn * random.choice((1, 2, 3)) if number % 5 == 0 else random.randrange(burn, 3 * burn)
        purse = Purse(owner, granted, granted)
        if number % 3 == 0:
            moments = random.sample(range(1, LAST // TICK), k=random.choice((1, 2, 3)))
            purse.top_ups = {moment: random.randrange(1, 2 * burn) for moment in moments}
        return purse, hosts

    @staticmethod
    def rent(purse: Purse, hosts: Sequence[FakeHost], name: str) -> None:
        for host in hosts:
            instance = order(purse.owner, host, name=name)
            purse.spendable -= instance.rate_micros_per_hour
            purse.runs.append(Run(instance.pk, instance.rate_micros_per_hour, START))

    def begin(self) -> None:
        """The hosts report one after another, so that hours end at different seconds."""
        opened: dict[UUID, datetime] = {}
        for host in self.hosts:
            self.forward(timedelta(seconds=self.random.randrange(3, 60)))
            host.settle()
            opened |= dict.fromkeys(host.running(), self.now)
            self.prove(sorted(opened))
        for purse in self.purses:
            for run in purse.runs:
                run.opened = opened[run.key]
        analyze()
        # Of two meters that end together the one with the smaller id is first.
        order_of = dict(Meter.objects.values_list("source_id", "pk"))
        for purse in self.purses:
            for run in purse.runs:
                run.key = order_of[run.key]

    def forward(self, span: timedelta) -> None:
        self.now += span
        self.clock.move_to(self.now, tick=False)

    def prove(self, sources: Sequence[UUID]) -> None:
        with use_case():
            prove_meters(source_kind=INSTANCE_SOURCE, source_ids=sources, at=self.now)

    def tick(self, number: int) -> set[UUID]:
        """What a while of the market's life does; which instances it stopped."""
        self.forward(TICK)
        for purse in self.purses:
            if micros := purse.top_ups.get(number):
                grant(purse.owner, micros)
                purse.granted += micros
                purse.spendable += micros
        Host.objects.update(last_seen_at=self.now)  # who is seen while all are silent is stopped by nobody (D6)
        self.prove(list(Instance.objects.filter(state="running").values_list("pk", flat=True)))
        extend_holds(now=self.now)
        stop_exhausted(now=self.now)
        if number % 7 == 0:  # a line appears some minutes late
            settle_meters(now=self.now)
        stopping = dict(Instance.objects.filter(state="stopping").values_list("pk", "host_id"))
        for host in self.hosts:
            if host.host.pk in stopping.values():
                host.settle()
        return set(stopping)


@pytest.mark.timeout(1800)  # of a thousand, about a minute and a half of work
@pytest.mark.django_db(transaction=True)  # in one transaction nothing is pruned: each row would drag its past along
def test_many_wallets_run_dry_and_none_goes_below_zero(hana: User, image: Image) -> None:
    with time_machine.travel(START, tick=False) as clock:
        town = Town(hana, Random(20_261_121), clock)
        town.begin()
        meters = dict(Meter.objects.values_list("source_id", "pk"))
        for number in range(1, LAST // TICK):
            before = {run.key for purse in town.purses for run in purse.running()}
            stopped = {meters[instance] for instance in town.tick(number)}
            for purse in town.purses:
                purse.tick(town.now)
            expected = before - {run.key for purse in town.purses for run in purse.running()}
            assert stopped == expected, f"at {town.now}: stopped {len(stopped)}, by the model {len(expected)}"
            if stopped or number % 10 == 0:
                assert count(_LIVE, town.now) == 0
        settle_meters(now=town.now)
        assert_paid_to_the_micro(town)
        assert_sound()


def assert_paid_to_the_micro(town: Town) -> None:
    wallets = dict(Wallet.objects.filter(kind="renter").values_list("owner_id", "balance_micros"))
    held = dict(Wallet.objects.filter(kind="renter").values_list("owner_id", "held_micros"))
    source_of = dict(Meter.objects.values_list("pk", "source_id"))
    costs = costs_of(source_kind=INSTANCE_SOURCE, source_ids=list(source_of.values()), now=town.now)
    ended = 0
    for purse in town.purses:
        for run in purse.runs:
            if run.stopped is None:
                continue
            ended += 1
            assert run.funded <= run.stopped < run.funded + TICK
            assert costs[source_of[run.key]].total_micros == run.hours * run.rate, "charged to the end of the hold"
        if not purse.running():
            assert (wallets[purse.owner.pk], held[purse.owner.pk]) == (purse.left, 0)
        assert purse.left >= 0
    assert ended > WALLETS, "most of them did run dry"
    requests = Instance.objects.exclude(stop_requested_at=None).values_list("pk", "stop_requested_at")
    ends = {source_of[run.key]: run for purse in town.purses for run in purse.runs}
    assert all(ends[key].stopped == moment for key, moment in requests)
    assert InstanceEvent.objects.filter(kind="funds_exhausted").count() == ended
    assert Lease.objects.filter(released_at=None).count() == sum(len(purse.running()) for purse in town.purses)
    assert Hold.objects.filter(released_at=None).count() == Lease.objects.filter(released_at=None).count()


def count(query: str, now: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query, {"now": now})
        (found,) = cursor.fetchone()
    return int(found)
