"""The auction of the spot market: from bids and GPUs to winners and one price. Pure; `docs/spot.md` says it in words."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Bid:
    """What one bidder asks for. `max_micros` is per GPU and hour.

    `holds`: it has its GPUs now. `sits`: and its minimum run time is not over. `rests`: it yielded a moment ago.
    """

    key: Hashable
    max_micros: int
    placed_at: datetime
    gpus: int
    holds: bool = False
    sits: bool = False
    rests: bool = False

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """The highest maximum first; of equal ones the earlier; the key makes the order total."""
        return -self.max_micros, self.placed_at, str(self.key)


@dataclass(frozen=True)
class Outcome:
    """Who gets GPUs, in the order of rank, and what each bid pays per GPU and hour while it holds some."""

    price_micros: int
    winners: tuple[Any, ...]
    pays: Mapping[Any, int]
    demand: int


def auction(bids: Sequence[Bid], *, supply: int, floor_micros: int) -> Outcome:
    """Winners and price of one offer at one moment.

    **Supply** are the GPUs that hourly and reserved rents neither use nor wait for.

    **Who takes part.** Who holds GPUs, and who asks for some at the floor or above. A floor that was raised does not touch
    those who hold already.

    **Winners.** First those who sit (their minimum run time protects them from other bids, not from `supply` shrinking),
    then the others who do not rest; each group in the order of rank, and each bid for which the GPUs left over will do
    gets all of its own, the others none. So a small bid may win behind a large one that does not fit.

    **Price.** The highest maximum of a bid that lost: it did not win, it asks for no more than the whole supply, and what is
    left over at the end will not do for it. At least the floor. Who wins pays it, or the own maximum if that is less: the
    market price may exceed the maximum of who sits, or of a small bid behind a large one. Who has notice pays the same.
    """
    taking_part = sorted((bid for bid in bids if bid.holds or bid.max_micros >= floor_micros), key=lambda bid: bid.rank)
    left, winners = supply, []
    for bid in [*(bid for bid in taking_part if bid.sits), *(bid for bid in taking_part if not bid.sits)]:
        if not bid.rests and bid.gpus <= left:
            left -= bid.gpus
            winners.append(bid)
    won = {bid.key for bid in winners}
    lost = [bid.max_micros for bid in taking_part if bid.key not in won and left < bid.gpus <= supply]
    price = max([floor_micros, *lost])
    return Outcome(
        price_micros=price,
        winners=tuple(bid.key for bid in sorted(winners, key=lambda bid: bid.rank)),
        pays={bid.key: min(price, bid.max_micros) for bid in taking_part},
        demand=sum(bid.gpus for bid in taking_part),
    )
