"""Bids of instances, for all their GPUs together."""

from accounts.models import User
from common.errors import IllegalTransition
from instances.spot.bid_changes import change_bid
from marketplace.leasing.offer_selectors import offer_view
from vast.contracts.changes import own_instance
from vast.create.bodies import read_bid
from vast.create.orders import bid_micros


def set_bid(*, renter: User, number: int, price: object) -> None:
    """Change the bid to dollars per hour for the whole instance; None bids the on-demand price.

    Raises InvalidPrice, BidBarred, InsufficientFunds, or IllegalTransition for an instance that is no spot rent.
    """
    instance, bid = own_instance(renter, number), read_bid(price)
    if instance.billing_mode != "spot":
        raise IllegalTransition("This instance is not interruptible. Its price doesn't change.")
    offer = offer_view(instance.offer_id)
    most = bid_micros(offer, bid=bid or 0.0, gpu_count=instance.gpu_count, without_bid=offer.price_micros)
    change_bid(renter=renter, instance_id=instance.pk, max_price_micros=most)
