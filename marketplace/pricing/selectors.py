"""Reads of an offer's public price history: its changes, and low, high and last price per day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.db.models import Max, Min, QuerySet
from django.db.models.functions import TruncDay

from common import clock
from common.errors import NotFound
from marketplace.constants import PRICE_HISTORY_DAYS, PRICE_POINTS_MAX
from marketplace.models import Offer, OfferPrice

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True)
class PricePoint:
    """Price per GPU-hour from a point in time."""

    at: datetime
    price_micros: int
    spot_floor_micros: int | None


@dataclass(frozen=True)
class PriceDay:
    """Prices of a GPU-hour on one day (UTC), including the price at its beginning."""

    day: date
    low_micros: int
    high_micros: int
    last_micros: int


def price_history(offer_id: UUID, *, days: int = PRICE_HISTORY_DAYS) -> list[PricePoint]:
    """Return the changes of the last days, oldest first; at most 1,000.

    The price in force before them is the first.
    """
    rows, since = _rows(offer_id), _first_moment(days)
    recent = list(rows.filter(at__gte=since).order_by("-at", "-id")[:PRICE_POINTS_MAX])
    before = rows.filter(at__lt=since).order_by("-at", "-id").first() if len(recent) < PRICE_POINTS_MAX else None
    found = [*reversed(recent)] if before is None else [before, *reversed(recent)]
    return [PricePoint(row.at, row.price_micros, row.spot_floor_micros) for row in found]


def daily_prices(offer_id: UUID, *, days: int = PRICE_HISTORY_DAYS) -> list[PriceDay]:
    """Return each of the last days up to today, oldest first, without days before the first price."""
    rows, since = _rows(offer_id), _first_moment(days)
    dated = rows.filter(at__gte=since).annotate(day=TruncDay("at", tzinfo=UTC))
    spans = dated.order_by().values_list("day").annotate(low=Min("price_micros"), high=Max("price_micros"))
    last = dated.order_by("day", "-at", "-id").distinct("day").values_list("day", "price_micros")
    before = rows.filter(at__lt=since).order_by("-at", "-id").first()
    return _filled(
        {day.date(): (low, high) for day, low, high in spans},
        {day.date(): price for day, price in last},
        before.price_micros if before else None,
        [since.date() + number * _ONE_DAY for number in range(days)],
    )


def own_offer(owner_id: UUID, offer_id: UUID) -> Offer:
    """Return one of the owner's offers.

    Raises:
        NotFound: the offer is not theirs.
    """
    offer = Offer.objects.filter(pk=offer_id, host__owner_id=owner_id).first()
    if offer is None:
        raise NotFound("This offer doesn't exist.")
    return offer


def _filled(
    spans: Mapping[date, tuple[int, int]], last: Mapping[date, int], price: int | None, days: Sequence[date]
) -> list[PriceDay]:
    """Return all days; one without a change has the price of the evening before."""
    found = []
    for day in days:
        known = [] if price is None else [price]
        if day in spans:
            price = last[day]
            known += spans[day]
        if price is not None:
            found.append(PriceDay(day, min(known), max(known), price))
    return found


def _rows(offer_id: UUID) -> QuerySet[OfferPrice]:
    if not Offer.objects.filter(pk=offer_id).exists():
        raise NotFound("This offer doesn't exist.")
    return OfferPrice.objects.filter(offer_id=offer_id)


def _first_moment(days: int) -> datetime:
    """Return the midnight from which today is the last of `days` days."""
    today = clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - (days - 1) * _ONE_DAY
