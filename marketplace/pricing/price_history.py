"""The price history: one row from each change on, written in the transaction that makes it."""

from marketplace.models import Offer, OfferPrice


def record_price(*, offer: Offer) -> None:
    """What the offer costs from now on. An offer that has no price yet has no history."""
    if offer.price_micros > 0:
        OfferPrice.objects.create(offer=offer, price_micros=offer.price_micros, spot_floor_micros=offer.spot_floor_micros)
