"""Auction of the spot market: from bids and GPUs to winners and prices.

Pure; docs/spot.md describes it.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Bid:
    """Bid of one bidder; `max_micros` is per GPU and hour.

    `holds`: it has its GPUs now. `sits`: it has them, and its minimum run time is not over. `rests`: it was
    preempted a moment ago. `began_at_micros`: the floor at which its run began. `backed`: the money of its first
    hour is held, and its bidder is not barred from the offer; a bid without that raises nobody's price.
    """

    key: Hashable
    max_micros: int
    placed_at: datetime
    gpus: int
    holds: bool = False
    sits: bool = False
    rests: bool = False
    began_at_micros: int | None = None
    backed: bool = True

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """Return the sort key: highest maximum first, then the earlier; the key makes the order total."""
        return -self.max_micros, self.placed_at, str(self.key)


@dataclass(frozen=True)
class Outcome:
    """Winners in the order of rank, and what each bid pays per GPU and hour while it holds GPUs.

    `price_micros` is the published market price: nobody pays more.
    """

    price_micros: int
    winners: tuple[Any, ...]
    pays: Mapping[Any, int]
    demand: int


def auction(bids: Sequence[Bid], *, supply: int, floor_micros: int) -> Outcome:
    """Return winners and prices of one offer at one moment.

    **Supply**: the GPUs that hourly and reserved rents neither use nor wait for.

    **Participants**: bids that hold GPUs, and bids at the floor or above. A raised floor does not affect bids
    that hold GPUs already.

    **Winners**: first bids that `sit` (their minimum run time protects them from other bids, not from a smaller
    `supply`), then the others that do not `rest`. In each group by rank, a bid gets all of its GPUs if enough are
    left, else none. So a small bid may win behind a large one that does not fit.

    **Price**: while a GPU stays free after that, the floor: unused GPUs keep nobody out. Otherwise each pays what
    its own GPUs would bring without it: the highest losing bid that *fits* on them (`price_on`), at least the
    floor, at most its own maximum. A floor that was raised after a run began does not apply to that run; a
    lowered one does.
    """
    taking_part = sorted((bid for bid in bids if bid.holds or bid.max_micros >= floor_micros), key=lambda bid: bid.rank)
    left, winners = supply, []
    for bid in [*(bid for bid in taking_part if bid.sits), *(bid for bid in taking_part if not bid.sits)]:
        if not bid.rests and bid.gpus <= left:
            left -= bid.gpus
            winners.append(bid)
    won = {bid.key for bid in winners}
    losers = [bid for bid in taking_part if bid.key not in won and bid.backed] if not left else []
    price = max([floor_micros, *(price_on(bid, losers, floor_micros) for bid in winners)])
    return Outcome(
        price_micros=price,
        winners=tuple(bid.key for bid in sorted(winners, key=lambda bid: bid.rank)),
        pays={bid.key: min(price, _pays(bid, losers, floor_micros)) for bid in taking_part},
        demand=sum(bid.gpus for bid in taking_part),
    )


def price_on(bid: Bid, losers: Sequence[Bid], floor_micros: int) -> int:
    """Return what the GPUs of `bid` would bring per GPU and hour if it released them.

    A losing bid fits if these GPUs alone are enough for it: it asks for no more than `bid` does. Other bids keep
    their GPUs, so a bid that could be granted only if several released theirs raises nobody's price. A bid is
    never its own rival.
    """
    return max([floor_micros, *(each.max_micros for each in losers if each.gpus <= bid.gpus and each.key != bid.key)])


def _pays(bid: Bid, losers: Sequence[Bid], floor_micros: int) -> int:
    floor = floor_micros if bid.began_at_micros is None else min(floor_micros, bid.began_at_micros)
    return min(price_on(bid, losers, floor), bid.max_micros)
