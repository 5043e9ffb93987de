"""More than ten thousand random timelines against exact fractions, however the sweeps come."""

import random
from collections.abc import Callable

import pytest
import time_machine

from billing.audit.selectors import ledger_findings
from tests.billing.lives import make_lives, moment
from tests.billing.oracle import DAY, HOUR, MINUTE, SECOND
from tests.billing.worlds import World, settle_by_eight, settle_cut, settle_each, settle_repeated
from tests.roles import analyze

TIMELINES = 1_950
ROUNDS = 24

Settle = Callable[[int, random.Random], None]


def step_of(rng: random.Random) -> int:
    """Mostly between two reports; sometimes the bridge to the microsecond, sometimes an outage of all hosts."""
    choice = rng.random()
    if choice < 0.15:
        return 120 * SECOND + rng.choice([-1, 0, 1])
    if choice < 0.2:
        return rng.randrange(3 * MINUTE, 2 * HOUR)
    return rng.randrange(60 * SECOND, 120 * SECOND)


@pytest.mark.timeout(900)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("settle", "settle_every", "extend_every", "timelines", "rounds"),
    [
        pytest.param(settle_each, 1, 1, TIMELINES, ROUNDS, id="each-round"),
        pytest.param(settle_cut, 2, 1, TIMELINES, ROUNDS, id="cut"),
        pytest.param(settle_repeated, 3, 2, TIMELINES, ROUNDS, id="repeated"),
        pytest.param(settle_each, ROUNDS - 4, 1, TIMELINES, ROUNDS, id="late"),
        pytest.param(settle_each, ROUNDS + 9, 10, TIMELINES, ROUNDS, id="a-day-late"),
        # longer: some spot meters have so many prices by then that they go on as others
        pytest.param(settle_by_eight, 9, 1, 450, 45, id="eight-workers"),
    ],
)
def test_fault_065_the_ledger_says_what_the_oracle_says(
    settle: Settle, settle_every: int, extend_every: int, timelines: int, rounds: int
) -> None:
    rng = random.Random(f"0 {settle_every} {extend_every}")
    world = World(rng, make_lives(rng, timelines), settle_every, settle, extend_every)
    world.open_all()
    analyze()
    day_off = rng.randrange(rounds // 2, rounds - 8)
    for number in range(rounds):
        world.turn(DAY + step_of(rng) if number == day_off else step_of(rng))
        if number == rounds // 3:
            world.settle_all()
            assert world.disagreements() == []
    world.settle_all()
    analyze()
    assert world.disagreements() == []
    with time_machine.travel(moment(world.now), tick=False):
        assert [str(finding) for finding in ledger_findings()] == []
