"""Random lives of a metered source against an oracle in fractions that shares no code with the services."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from math import floor

import pytest
import time_machine

from accounts.models import User
from billing.metering.settle import extend_holds, settle_meters
from tests.billing.money import START, Source, assert_sound, charged, grant, platform, wallet

BRIDGE_S = Fraction(120)
LEAD_S = Fraction(60)
HOUR_S = Fraction(3600)
FEE = Fraction(1, 10)
STEPS = 45

pytestmark = pytest.mark.django_db


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


@dataclass
class Stretch:
    """Uninterrupted proof from `begin` to `proven`, paid for until `funded`; seconds since the start."""

    begin: Fraction
    proven: Fraction
    funded: Fraction

    def length(self, cap: Fraction | None) -> Fraction:
        end = min(self.proven, self.funded) if cap is None else min(self.proven, self.funded, cap)
        return max(end - self.begin, Fraction(0))


@dataclass
class Oracle:
    """What must be charged: every stretch for its length, as far as whole prepaid hours reach."""

    rate: int
    money: int
    prepaid: int = 0
    cap: Fraction | None = None
    stretches: list[Stretch] = field(default_factory=list)

    def cost_of(self, stretch: Stretch) -> int:
        return half_up(self.rate * stretch.length(self.cap) / HOUR_S)

    def open(self, now: Fraction) -> None:
        left = self.prepaid - sum(self.cost_of(stretch) for stretch in self.stretches)
        lasts = Fraction(floor(left * HOUR_S * 1_000_000 / self.rate), 1_000_000)
        self.stretches.append(Stretch(now, now, now + lasts))

    def start(self, now: Fraction) -> None:
        self.prepaid = self.rate
        self.open(now)

    def prove(self, now: Fraction) -> None:
        last = self.stretches[-1]
        if now - last.proven > BRIDGE_S:
            self.open(now)
        else:
            last.proven = max(last.proven, now)

    def renew(self, now: Fraction) -> None:
        last = self.stretches[-1]
        needed = min(now, last.proven + BRIDGE_S) + LEAD_S  # what is silent can cost nothing beyond the bridge
        while self.cap is None and last.funded <= needed and self.prepaid + self.rate <= self.money:
            self.prepaid += self.rate
            last.funded += HOUR_S

    def stop(self, cap: Fraction) -> None:
        self.cap = cap if self.cap is None else min(self.cap, cap)

    @property
    def costs(self) -> list[int]:
        return [self.cost_of(stretch) for stretch in self.stretches]


def moment_of(seconds: Fraction) -> datetime:
    return START + timedelta(microseconds=int(seconds * 1_000_000))


def step_of(rng: random.Random) -> Fraction:
    """Mostly between two proofs; sometimes the bridge to the microsecond, a gap, or hours."""
    choice = rng.random()
    if choice < 0.1:
        return BRIDGE_S + Fraction(rng.choice([-1, 0, 1]), 1_000_000)
    if choice < 0.2:
        return Fraction(rng.randrange(121_000_000, 9_000_000_000), 1_000_000)
    return Fraction(rng.randrange(1, 120_000_000), 1_000_000)


@pytest.mark.parametrize("seed", range(30))
def test_a_random_life_costs_what_the_oracle_says_to_the_micro_unit(alice: User, hana: User, seed: int) -> None:
    rng = random.Random(seed)
    rate = rng.choice([1, 59, 3_060_000, rng.randrange(1, 10**8)])
    money = rate * rng.choice([1, 2, 5, 200]) + rng.randrange(rate + 1)
    grant(alice, money)
    source, oracle, now = Source(alice, hana, rate=rate), Oracle(rate, money), Fraction(0)
    source.start(START)
    oracle.start(now)
    for _ in range(STEPS):
        now += step_of(rng)
        with time_machine.travel(moment_of(now), tick=False):
            _act(rng, source, oracle, now)
        assert wallet(alice).spendable_micros >= 0
    if rng.random() < 0.5:
        assert_sound(moment_of(now))  # also in the middle, with stretches open and unsettled
    with time_machine.travel(moment_of(now), tick=False):
        source.close()
    assert charged(source.key) == sum(oracle.costs)
    fees = sum(half_up(cost * FEE) for cost in oracle.costs)
    assert platform().balance_micros == fees
    assert wallet(hana, "host").balance_micros == sum(oracle.costs) - fees
    assert (wallet(alice).balance_micros, wallet(alice).held_micros) == (money - sum(oracle.costs), 0)
    assert_sound(moment_of(now))


def _act(rng: random.Random, source: Source, oracle: Oracle, now: Fraction) -> None:
    choice = rng.random()
    if choice < 0.7:
        source.prove(moment_of(now))
        oracle.prove(now)
    elif choice < 0.8:
        settle_meters(now=moment_of(now))
    elif choice < 0.97:
        extend_holds(now=moment_of(now))
        oracle.renew(now)
    else:
        grace = Fraction(rng.randrange(0, 30))
        source.cap(moment_of(now + grace))
        oracle.stop(now + grace)
