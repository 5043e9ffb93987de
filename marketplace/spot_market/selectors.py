"""Public reads of an offer's spot market: its price now and before, and the supply; nothing is locked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from uuid import UUID

from common import clock
from common.errors import NotFound
from marketplace.constants import PRICE_HISTORY_DAYS, PRICE_POINTS_MAX
from marketplace.models import Claim, Offer, SpotPrice
from marketplace.pricing.prices import spot_price_micros

_LATELY = timedelta(hours=24)


@dataclass(frozen=True)
class SpotPoint:
    """Spot price per GPU and hour from a moment on, with supply and demand in GPUs at that moment."""

    at: datetime
    price_micros: int
    supply: int
    demand: int


@dataclass(frozen=True)
class SpotLately:
    """Market of one offer now and over the last day; `None` where the offer has no spot market."""

    floor_micros: int | None
    now_micros: int | None
    low_micros: int | None
    high_micros: int | None
    points: Sequence[SpotPoint]
    since: datetime
    until: datetime

    def share_within(self, max_micros: int) -> Fraction:
        """Return the share of the last day with a price of at most this; 1 where nobody ever bid."""
        if not self.points:
            return Fraction(1 if self.now_micros is not None and max_micros >= self.now_micros else 0)
        begins = [max(self.since, point.at) for point in self.points]
        ends = [*begins[1:], self.until]
        known = (ends[-1] - begins[0]) / timedelta(microseconds=1)
        within = sum(
            (end - begin) / timedelta(microseconds=1)
            for point, begin, end in zip(self.points, begins, ends, strict=True)
            if point.price_micros <= max_micros
        )
        return Fraction(round(within), round(known)) if known else Fraction(self.points[-1].price_micros <= max_micros)


def spot_history(offer_id: UUID, *, days: int = PRICE_HISTORY_DAYS) -> list[SpotPoint]:
    """Return the changes of the last days, oldest first; at most 1,000.

    The price in force before them is the first.
    """
    _offer(offer_id)
    return _points(offer_id, clock.now() - timedelta(days=days))


def spot_lately(offer_id: UUID) -> SpotLately:
    """Return the offer's market over the last day.

    Raises:
        NotFound: there is no such offer.
    """
    offer, now = _offer(offer_id), clock.now()
    points = _points(offer_id, now - _LATELY)
    present = spot_price_micros(floor_micros=offer.spot_floor_micros, now_micros=offer.spot_now_micros)
    prices = [point.price_micros for point in points] + ([] if present is None else [present])
    return SpotLately(
        floor_micros=offer.spot_floor_micros,
        now_micros=present,
        low_micros=min(prices, default=None),
        high_micros=max(prices, default=None),
        points=points,
        since=now - _LATELY,
        until=now,
    )


def has_waiting_claims(offer_id: UUID) -> bool:
    """Return whether an accepted order waits for GPUs of this offer."""
    return Claim.objects.filter(offer_id=offer_id).exists()


def offers_with_claims() -> list[UUID]:
    return list(Claim.objects.order_by().values_list("offer_id", flat=True).distinct())


def _offer(offer_id: UUID) -> Offer:
    offer = Offer.objects.filter(pk=offer_id).first()
    if offer is None:
        raise NotFound("This offer doesn't exist.")
    return offer


def _points(offer_id: UUID, since: datetime) -> list[SpotPoint]:
    rows = SpotPrice.objects.filter(offer_id=offer_id)
    recent = list(rows.filter(at__gte=since).order_by("-at", "-id")[:PRICE_POINTS_MAX])
    before = rows.filter(at__lt=since).order_by("-at", "-id").first() if len(recent) < PRICE_POINTS_MAX else None
    found = [*reversed(recent)] if before is None else [before, *reversed(recent)]
    return [SpotPoint(row.at, row.price_micros, row.supply, row.demand) for row in found]


@dataclass(frozen=True)
class QueuePosition:
    """Queue position for GPUs of one offer: 1 is next, and `of` is the length of the queue."""

    number: int
    of: int
    since: datetime


def queue_positions(holders: Sequence[UUID]) -> dict[UUID, QueuePosition]:
    """Return the queue position of each holder; those without a claim are left out."""
    offers = Claim.objects.filter(holder__in=holders).order_by().values_list("offer_id", flat=True).distinct()
    rows = Claim.objects.filter(offer_id__in=offers).order_by("offer_id", "made_at", "pk")
    lines: dict[UUID, list[Claim]] = {}
    for claim in rows:
        lines.setdefault(claim.offer_id, []).append(claim)
    places = {
        claim.pk: QueuePosition(number, len(line), claim.made_at)
        for line in lines.values()
        for number, claim in enumerate(line, start=1)
    }
    return {holder: places[holder] for holder in holders if holder in places}


def waiting_longer_than(*, before: datetime) -> list[UUID]:
    """Return holders that have waited since before that moment, in order."""
    return list(Claim.objects.filter(made_at__lte=before).order_by("made_at").values_list("holder", flat=True))
