"""Bidders and on-demand renters on fake hosts whose offers have a spot market."""

from uuid import UUID

from accounts.models import User
from instances.models import Instance, SpotBid
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.spot.market_tick import tick_offer
from marketplace.models import Offer
from tests.instances.fake_host import FakeHost, reload

UNIT = 1_000_000
FLOOR = 500_000


def with_spot(host: FakeHost, floor_micros: int = FLOOR) -> FakeHost:
    Offer.objects.filter(pk=host.offer.pk).update(spot_floor_micros=floor_micros)
    host.offer.refresh_from_db()
    return host


def bid(renter: User, host: FakeHost, most: float, *, gpus: int = 1, name: str = "spot", tick: bool = True) -> Instance:
    """Ordered, and the tick that follows an order at once."""
    quote = create_quote(
        renter=renter,
        offer_id=host.offer.pk,
        image="berth-base",
        gpu_count=gpus,
        billing_mode="spot",
        max_price_micros=round(most * UNIT),
    )
    instance = rent_instance(renter=renter, quote_id=quote.pk, name=name)
    if tick:
        turn(host)
    return reload(instance)


def turn(host: FakeHost) -> None:
    """A tick, what the host makes of it, and a tick after what it has reported."""
    tick_offer(offer_id=host.offer.pk)
    host.settle()
    tick_offer(offer_id=host.offer.pk)
    host.settle()


def bid_of(instance: Instance) -> SpotBid:
    return SpotBid.objects.get(pk=instance.pk)


def seen(instance: Instance) -> tuple[str, str, int | None]:
    """State of the instance and of its bid, and what it pays per GPU and hour."""
    found = bid_of(instance)
    return reload(instance).state, found.state, found.price_micros


def events(instance: Instance) -> list[str]:
    return list(instance.events.order_by("id").values_list("kind", flat=True))


def offer_of(host: FakeHost) -> Offer:
    return Offer.objects.get(pk=host.offer.pk)


def free_and_spot(host: FakeHost) -> tuple[int, int]:
    offer = offer_of(host)
    return offer.gpu_free, offer.gpu_spot


def ids(*instances: Instance) -> set[UUID]:
    return {instance.pk for instance in instances}
