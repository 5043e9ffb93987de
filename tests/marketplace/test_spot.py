"""The auction against its definition in the plainest words, on random bids; and the cases worked by hand in docs/spot.md."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from marketplace.spot import Bid, Outcome, auction
from tests.marketplace.spot_definition import defined

START = datetime(2026, 1, 1, tzinfo=UTC)
UNIT = 1_000_000


def bid(key: str, most: str, gpus: int = 1, *, at: int = 0, **state: bool) -> Bid:
    return Bid(key, int(Fraction(most) * UNIT), START + timedelta(seconds=at), gpus, **state)


def held(outcome: Outcome) -> dict[Any, str]:
    """Who won, and what each of them pays."""
    return {key: f"{outcome.pays[key] / UNIT:.2f}" for key in outcome.winners}


def sold(bids: Sequence[Bid], supply: int, floor: str = "0.50") -> Outcome:
    return auction(bids, supply=supply, floor_micros=int(Fraction(floor) * UNIT))


# -- by hand


def test_the_highest_win_and_pay_what_the_highest_loser_bid() -> None:
    outcome = sold([bid("a", "3.00"), bid("b", "2.00"), bid("c", "1.20"), bid("d", "0.90")], 2)
    assert held(outcome) == {"a": "1.20", "b": "1.20"}
    assert outcome.demand == 4


def test_with_gpus_for_all_everyone_pays_the_floor() -> None:
    assert held(sold([bid("a", "3.00"), bid("b", "0.50")], 2)) == {"a": "0.50", "b": "0.50"}
    assert sold([], 2).price_micros == 500_000


def test_of_equal_bids_the_earlier_wins_and_pays_what_the_later_bid() -> None:
    assert held(sold([bid("late", "2.00", at=9), bid("early", "2.00", at=1)], 1)) == {"early": "2.00"}


def test_below_the_floor_nobody_asks_but_who_holds_stays() -> None:
    assert held(sold([bid("low", "0.40")], 4)) == {}
    assert sold([bid("low", "0.40"), bid("a", "1.00")], 1).price_micros == 500_000
    assert held(sold([bid("old", "0.40", holds=True)], 4)) == {"old": "0.40"}


def test_a_small_bid_fits_behind_a_large_one_and_never_pays_above_its_own() -> None:
    outcome = sold([bid("a", "5.00", 3), bid("large", "4.00", 2), bid("small", "1.00")], 4)
    assert held(outcome) == {"a": "4.00", "small": "1.00"}


def test_a_bid_for_more_than_there_is_moves_no_price() -> None:
    assert held(sold([bid("a", "2.00"), bid("huge", "900.00", 5)], 4)) == {"a": "0.50"}


def test_who_sits_stays_and_who_rests_waits() -> None:
    outcome = sold([bid("new", "9.00"), bid("sits", "1.00", holds=True, sits=True)], 1)
    assert held(outcome) == {"sits": "1.00"}  # the price is 9.00, its own maximum less
    outcome = sold([bid("a", "2.00", holds=True), bid("rests", "9.00", rests=True)], 2)
    assert held(outcome) == {"a": "0.50"}  # a GPU is left for who rests: nobody pays for keeping it out
    assert held(sold([bid("a", "10.00", holds=True), bid("rests", "9.00", rests=True)], 1)) == {"a": "9.00"}


def test_who_sits_yields_to_less_supply() -> None:
    sitting = [bid("a", "3.00", holds=True, sits=True), bid("b", "2.00", holds=True, sits=True)]
    assert held(sold(sitting, 1)) == {"a": "2.00"}
    assert held(sold(sitting, 0)) == {}


# -- against the definition

STATES = st.sampled_from([{}, {"holds": True}, {"holds": True, "sits": True}, {"rests": True}])
BIDS = st.lists(
    st.builds(
        lambda most, at, gpus, state: (most, at, gpus, state),
        st.integers(1, 12),
        st.integers(0, 4),
        st.integers(1, 4),
        STATES,
    ),
    max_size=9,
)


@settings(max_examples=2000, deadline=None)
@given(BIDS, st.integers(0, 8), st.integers(1, 6))
def test_the_auction_is_its_definition(drawn: list[tuple[int, int, int, dict[str, bool]]], supply: int, floor: int) -> None:
    bids = [
        Bid(f"bid-{number}", most, START + timedelta(seconds=at), gpus, **state)
        for number, (most, at, gpus, state) in enumerate(drawn)
    ]
    outcome = auction(bids, supply=supply, floor_micros=floor)
    winners, price, pays = defined(bids, supply, floor)
    assert (set(outcome.winners), outcome.price_micros, dict(outcome.pays)) == (winners, price, pays)
    by_key = {each.key: each for each in bids}
    assert sum(by_key[key].gpus for key in outcome.winners) <= supply
    assert all(outcome.pays[key] <= by_key[key].max_micros for key in outcome.winners)
    assert outcome.price_micros >= floor


@settings(max_examples=500, deadline=None)
@given(BIDS, st.integers(0, 8), st.integers(1, 6), st.randoms(use_true_random=False))
def test_the_order_in_which_bids_are_read_does_not_matter(drawn: Any, supply: int, floor: int, chance: Any) -> None:
    bids = [
        Bid(f"bid-{number}", most, START + timedelta(seconds=at), gpus, **state)
        for number, (most, at, gpus, state) in enumerate(drawn)
    ]
    shuffled = list(bids)
    chance.shuffle(shuffled)
    assert auction(bids, supply=supply, floor_micros=floor) == auction(shuffled, supply=supply, floor_micros=floor)
