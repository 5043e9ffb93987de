"""Price history of offers: a row for each change, written in its transaction."""

from marketplace.models import Offer, OfferPrice


def record_price(*, offer: Offer) -> None:
    """Record the offer's price from now on; an offer without a price has no history."""
    if offer.price_micros > 0:
        OfferPrice.objects.create(offer=offer, price_micros=offer.price_micros, spot_floor_micros=offer.spot_floor_micros)
