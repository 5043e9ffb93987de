"""What the auction of the spot market must find, by brute force: nobody is sorted, and each price is found by trying.

The price of a GPU that someone holds is what the others would give for exactly these GPUs: the holder is taken away, each
losing bid is tried on what is free then, and the highest that can be granted so counts.
"""

from collections.abc import Sequence
from typing import Any

from marketplace.spot_market.clearing import Bid


def comes_before(one: Bid, other: Bid) -> bool:
    """Who sits before who does not; then the higher maximum; then the earlier; then the key."""
    if one.sits != other.sits:
        return one.sits
    if one.max_micros != other.max_micros:
        return one.max_micros > other.max_micros
    return (one.placed_at, str(one.key)) < (other.placed_at, str(other.key))


def granted(asks: Sequence[Bid], supply: int) -> tuple[set[Any], int]:
    """Who gets GPUs, and how many stay free."""
    over, winners, turn = supply, set(), [each for each in asks if not each.rests]
    while turn:
        [best] = [one for one in turn if all(one is other or comes_before(one, other) for other in turn)]
        turn.remove(best)
        if best.gpus <= over:
            over -= best.gpus
            winners.add(best.key)
    return winners, over


def defined(bids: Sequence[Bid], supply: int, floor: int) -> tuple[set[Any], int, dict[Any, int]]:
    """Winners, the published price, and what each bid would pay."""
    asks = [each for each in bids if each.holds or each.max_micros >= floor]
    winners, over = granted(asks, supply)
    rivals = {each.key: offers_for(each, asks, winners, supply) if over == 0 else [] for each in asks}
    price, pays = max([floor, *(rival for key in winners for rival in rivals[key])]), {}
    for each in asks:
        own_floor = floor if each.began_at_micros is None or each.began_at_micros > floor else each.began_at_micros
        pays[each.key] = min(price, each.max_micros, max([own_floor, *rivals[each.key]]))
    return winners, price, pays


def offers_for(bid: Bid, asks: Sequence[Bid], winners: set[Any], supply: int) -> list[int]:
    """What each loser offers for the GPUs of `bid`, were it gone and did all other winners keep theirs.

    Of who has lost and still holds GPUs, the GPUs that it is to give up are tried in the same way.
    """
    others = sum(each.gpus for each in asks if each.key in winners and each.key != bid.key)
    free = supply - others if bid.key in winners else bid.gpus
    losers = [each for each in asks if each.key not in winners and each.key != bid.key and each.backed]
    return [each.max_micros for each in losers if each.gpus <= free]
