"""What the auction of the spot market must find, in the plainest words: nobody is sorted, everybody is compared."""

from collections.abc import Sequence
from typing import Any

from marketplace.spot import Bid


def comes_before(one: Bid, other: Bid) -> bool:
    """Who sits before who does not; then the higher maximum; then the earlier; then the key."""
    if one.sits != other.sits:
        return one.sits
    if one.max_micros != other.max_micros:
        return one.max_micros > other.max_micros
    return (one.placed_at, str(one.key)) < (other.placed_at, str(other.key))


def defined(bids: Sequence[Bid], supply: int, floor: int) -> tuple[set[Any], int, dict[Any, int]]:
    """Winners, the market price, and what each bid would pay."""
    asks = [each for each in bids if each.holds or each.max_micros >= floor]
    over, winners, turn = supply, set(), [each for each in asks if not each.rests]
    while turn:
        [best] = [one for one in turn if all(one is other or comes_before(one, other) for other in turn)]
        turn.remove(best)
        if best.gpus <= over:
            over -= best.gpus
            winners.add(best.key)
    losers = [each for each in asks if each.key not in winners and over < each.gpus <= supply]
    price = max([floor, *(each.max_micros for each in losers)])
    return winners, price, {each.key: min(price, each.max_micros) for each in asks}
