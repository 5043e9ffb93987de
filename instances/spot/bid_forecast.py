"""Forecast of a bid: whether it would win now, at what price, and how often in the last day."""

from dataclasses import dataclass, replace
from typing import Final, Literal
from uuid import UUID

from common import clock
from instances.spot.bids import standing_bids
from instances.spot.market_tick import entries
from marketplace.spot_market.clearing import Bid, auction
from marketplace.spot_market.selectors import SpotLately, spot_lately
from marketplace.spot_market.services import SpotMarket, view_spot_market

Chance = Literal["below_floor", "too_many", "none", "some", "half", "most", "all"]

_STEPS: Final[tuple[tuple[float, Chance], ...]] = ((0.99, "all"), (0.75, "most"), (0.35, "half"), (0.01, "some"))
_MINE: Final = "mine"


@dataclass(frozen=True)
class BidForecast:
    """Result of a forecast.

    `wins`: it would get its GPUs now, perhaps after others have had their notice. `chance`: how often it would have
    won in the last day.
    """

    lately: SpotLately
    max_micros: int
    gpu_count: int
    wins: bool
    pays_micros: int
    makes_others_yield: bool
    chance: Chance


def forecast_bid(offer_id: UUID, *, gpu_count: int, max_micros: int, own: UUID | None = None) -> BidForecast:
    """Forecast a bid.

    `own` is the instance whose bid would be changed. It is an estimate: nothing is locked, and others may bid. Raises
    NotFound.
    """
    lately, market = spot_lately(offer_id), view_spot_market(offer_id)
    floor = lately.floor_micros
    if floor is None or max_micros < floor:
        return BidForecast(lately, max_micros, gpu_count, False, 0, False, "below_floor")
    others, mine = _others(market, own)
    bid = Bid(_MINE, max_micros, clock.now(), gpu_count)
    if mine is not None:
        bid = replace(bid, holds=mine.holds, sits=mine.sits, began_at_micros=mine.began_at_micros)
    outcome = auction([*others, bid], supply=market.supply, floor_micros=floor)
    wins = _MINE in outcome.winners
    yielding = wins and any(each.holds and each.key not in outcome.winners for each in others)
    chance = "too_many" if gpu_count > market.supply else _chance(float(lately.share_within(max_micros)))
    return BidForecast(lately, max_micros, gpu_count, wins, outcome.pays.get(_MINE, floor), yielding, chance)


def _others(market: SpotMarket, own: UUID | None) -> tuple[list[Bid], Bid | None]:
    found = entries(market, list(standing_bids(market.offer.pk).select_related("instance")), clock.now())
    return [each for each in found if each.key != own], next((each for each in found if each.key == own), None)


def _chance(share: float) -> Chance:
    return next((word for least, word in _STEPS if share >= least), "none")
