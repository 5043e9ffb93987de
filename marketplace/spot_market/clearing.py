"""The auction of the spot market: from bids and GPUs to winners and prices. Pure; `docs/spot.md` says it in words."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Bid:
    """What one bidder asks for. `max_micros` is per GPU and hour.

    `holds`: it has its GPUs now. `sits`: and its minimum run time is not over. `rests`: it yielded a moment ago.
    `began_at_micros`: the floor at which its run began. `backed`: the money of its first hour is held, and its bidder is
    not barred from the offer; a bid without that raises nobody's price.
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
        """The highest maximum first; of equal ones the earlier; the key makes the order total."""
        return -self.max_micros, self.placed_at, str(self.key)


@dataclass(frozen=True)
class Outcome:
    """Who gets GPUs, in the order of rank, and what each bid pays per GPU and hour while it holds some.

    `price_micros` is the market price that is published: nobody pays more.
    """

    price_micros: int
    winners: tuple[Any, ...]
    pays: Mapping[Any, int]
    demand: int


def auction(bids: Sequence[Bid], *, supply: int, floor_micros: int) -> Outcome:
    """Winners and prices of one offer at one moment.

    **Supply** are the GPUs that hourly and reserved rents neither use nor wait for.

    **Who takes part.** Who holds GPUs, and who asks for some at the floor or above. A floor that was raised does not touch
    those who hold already.

    **Winners.** First those who sit (their minimum run time protects them from other bids, not from `supply` shrinking),
    then the others who do not rest; each group in the order of rank, and each bid for which the GPUs left over will do
    gets all of its own, the others none. So a small bid may win behind a large one that does not fit.

    **Price.** While a GPU stays free after that, the floor: nobody is kept out by what nobody uses. When none does, each
    pays what its own GPUs would fetch without it: the highest losing bid that *fits* on them (`price_on`), at least the
    floor, at most its own maximum. A floor that was raised since a run began is not for that run; a lowered one is.
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
    """What the GPUs of `bid` would fetch if it gave them up, per GPU and hour.

    A losing bid fits when these GPUs alone would do for it: it asks for no more than `bid` does. Others keep theirs, so a
    bid that could be granted only if several gave theirs up raises nobody's price. No bid is a rival of its own.
    """
    return max([floor_micros, *(each.max_micros for each in losers if each.gpus <= bid.gpus and each.key != bid.key)])


def _pays(bid: Bid, losers: Sequence[Bid], floor_micros: int) -> int:
    floor = floor_micros if bid.began_at_micros is None else min(floor_micros, bid.began_at_micros)
    return min(price_on(bid, losers, floor), bid.max_micros)
