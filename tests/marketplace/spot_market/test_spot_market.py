"""The auction against its definition in the plainest words, on random bids; and the cases worked by hand in docs/spot.md."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from marketplace.spot_market.clearing import Bid, Outcome, auction
from tests.marketplace.spot_definition import defined

START = datetime(2026, 1, 1, tzinfo=UTC)
UNIT = 1_000_000


def bid(key: str, most: str, gpus: int = 1, *, at: int = 0, **state: Any) -> Bid:
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


def test_a_small_bid_behind_a_large_one_pays_for_none_that_its_own_gpus_would_not_do_for() -> None:
    outcome = sold([bid("a", "5.00", 3), bid("large", "4.00", 2), bid("small", "1.00")], 4)
    assert held(outcome) == {"a": "4.00", "small": "0.50"}  # two GPUs do not fit on its one
    assert outcome.price_micros == 4 * UNIT


def test_a_bid_for_more_than_there_is_moves_no_price() -> None:
    assert held(sold([bid("a", "2.00"), bid("huge", "900.00", 5)], 4)) == {"a": "0.50"}


def test_a_bid_that_can_never_be_granted_beside_the_winners_moves_no_price() -> None:
    """The audit's attack: 0.94 × 4 of 4 GPUs beside a winner of one; three stay free."""
    outcome = sold([bid("victim", "0.95"), bid("shill", "0.94", 4)], 4, "0.40")
    assert (held(outcome), outcome.price_micros) == ({"victim": "0.40"}, 400_000)


def test_nor_when_the_gpus_beside_it_are_filled_up_for_the_floor() -> None:
    """No GPU stays free then; but the four would still not be granted on the victim's one."""
    fillers = [bid(f"filler-{number}", "0.40") for number in range(3)]
    outcome = sold([bid("victim", "0.95"), bid("shill", "0.94", 4), *fillers], 4, "0.40")
    assert held(outcome)["victim"] == "0.40"
    assert outcome.price_micros == 400_000


def test_while_a_gpu_stays_free_everyone_pays_the_floor() -> None:
    outcome = sold([bid("a", "3.00", 2), bid("b", "2.00", 2)], 3)
    assert (held(outcome), outcome.price_micros) == ({"a": "0.50"}, 500_000)


def test_a_bid_without_money_behind_it_moves_no_price() -> None:
    assert held(sold([bid("a", "3.00"), bid("poor", "2.00", backed=False)], 1)) == {"a": "0.50"}


def test_a_raised_floor_is_for_runs_that_begin_later_and_a_lowered_one_for_all() -> None:
    old = Bid("old", 3 * UNIT, START, 1, holds=True, began_at_micros=500_000)
    outcome = sold([old, bid("new", "3.00")], 3, "2.00")
    assert (held(outcome), outcome.price_micros) == ({"old": "0.50", "new": "2.00"}, 2 * UNIT)
    assert held(sold([old], 3, "0.30")) == {"old": "0.30"}
    assert held(sold([old, bid("rival", "2.50")], 1, "2.00")) == {"old": "2.50"}


def test_who_has_notice_is_no_rival_of_its_own() -> None:
    """A high bid that has not taken the GPUs yet, and may be withdrawn, costs their holder nothing."""
    outcome = sold([bid("holder", "1.00", 4, holds=True), bid("rival", "2.00", 4)], 4)
    assert held(outcome) == {"rival": "1.00"}
    assert outcome.pays["holder"] == 500_000


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

STATES = st.fixed_dictionaries(
    {"backed": st.booleans()},
    optional={"began_at_micros": st.integers(1, 6)},
).flatmap(
    lambda more: st.sampled_from([{}, {"holds": True}, {"holds": True, "sits": True}, {"rests": True}]).map(
        lambda state: {**more, **state}
    )
)
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


def drawn_bids(drawn: list[tuple[int, int, int, dict[str, Any]]]) -> list[Bid]:
    return [
        Bid(f"bid-{number}", most, START + timedelta(seconds=at), gpus, **state)
        for number, (most, at, gpus, state) in enumerate(drawn)
    ]


@settings(max_examples=2000, deadline=None)
@given(BIDS, st.integers(0, 8), st.integers(1, 6))
def test_the_auction_is_its_definition(drawn: list[tuple[int, int, int, dict[str, Any]]], supply: int, floor: int) -> None:
    bids = drawn_bids(drawn)
    outcome = auction(bids, supply=supply, floor_micros=floor)
    winners, price, pays = defined(bids, supply, floor)
    assert (set(outcome.winners), outcome.price_micros, dict(outcome.pays)) == (winners, price, pays)
    by_key = {each.key: each for each in bids}
    taken = sum(by_key[key].gpus for key in outcome.winners)
    assert taken <= supply
    assert all(outcome.pays[key] <= by_key[key].max_micros for key in outcome.winners)
    assert all(paid <= outcome.price_micros for paid in outcome.pays.values())
    assert outcome.price_micros >= floor
    assert taken == supply or outcome.price_micros == floor


@settings(max_examples=1000, deadline=None)
@given(BIDS, st.integers(0, 8), st.integers(1, 6), st.integers(1, 12), st.integers(1, 8))
def test_a_bid_raises_the_price_of_nobody_whose_gpus_it_could_not_take(
    drawn: list[tuple[int, int, int, dict[str, Any]]], supply: int, floor: int, most: int, gpus: int
) -> None:
    """A bid more that loses: whoever holds fewer GPUs than it asks for pays what it paid without that bid."""
    bids = drawn_bids(drawn)
    more = Bid("more", most, START, gpus)
    before = auction(bids, supply=supply, floor_micros=floor)
    after = auction([*bids, more], supply=supply, floor_micros=floor)
    if "more" in after.winners:
        return
    assert after.winners == before.winners
    for each in bids:
        if each.key in after.pays and each.gpus < gpus:
            assert after.pays[each.key] == before.pays[each.key]


@settings(max_examples=500, deadline=None)
@given(BIDS, st.integers(0, 8), st.integers(1, 6), st.randoms(use_true_random=False))
def test_the_order_in_which_bids_are_read_does_not_matter(drawn: Any, supply: int, floor: int, chance: Any) -> None:
    bids = drawn_bids(drawn)
    shuffled = list(bids)
    chance.shuffle(shuffled)
    assert auction(bids, supply=supply, floor_micros=floor) == auction(shuffled, supply=supply, floor_micros=floor)
