"""Pictures of the spot market: rents that run, have notice and wait, the form of a bid, and the prices of a week."""

from datetime import datetime, timedelta

import time_machine

from accounts.models import User
from billing.ledger.wallets import grant_credit
from common import clock
from common.ids import public_id
from instances.models import Instance, SpotBid
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.spot.market_tick import tick_offer
from marketplace.models import Host, Offer, SpotPrice
from tests.web.world import UNIT, World, keep_alive, person, report

_PRICES = (350, 350, 420, 610, 480, 390, 350, 350, 440, 520, 700, 560, 430, 350, 380, 460, 410, 350)


def spot_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    now, market, small = clock.now(), world.hosts["sh-gpu-15"], world.hosts["sim-asia-1"]
    grant_credit(owner_id=world.alice.pk, amount_micros=300 * UNIT, actor="staff", key="spot", memo="For bids")
    rival = person("rival@example.com", "Rival")
    grant_credit(owner_id=rival.pk, amount_micros=300 * UNIT, actor="staff", key="rival", memo="For bids")
    Offer.objects.filter(host=market).update(spot_floor_micros=350_000)
    Offer.objects.filter(host=small).update(spot_floor_micros=50_000)
    _history(market, now)
    with time_machine.travel(now - timedelta(minutes=40), tick=False):
        keep_alive(world.hosts)
        running = _bid(world.alice, market, "diffusion", 800_000, 1)
        noticed = _bid(world.alice, small, "ocr-batch", 90_000, 4)
        _bid(rival, market, "rival", 900_000, 2)
    keep_alive(world.hosts)
    waiting = _bid(world.alice, market, "render-farm", 520_000, 2)
    _bid(rival, small, "rival", 120_000, 2)
    # Whoever takes the pictures needs longer than two minutes.
    SpotBid.objects.filter(pk=noticed.pk).update(yields_at=now + timedelta(hours=1))
    ids = {name: public_id("inst", each.pk) for name, each in _named(running, noticed, waiting)}
    offer = public_id("offr", market.offers.get().pk)
    return {
        **{f"spot-{name}": ("alice", f"/instances/{key}") for name, key in ids.items()},
        "spot-bid": ("alice", f"/instances/{ids['running']}/bid"),
        "spot-bid-low": ("alice", f"/instances/{ids['running']}/bid?max_price=0.40"),
        "spot-offer": ("", f"/offers/{offer}"),
        "spot-rent": ("alice", f"/offers/{offer}/rent?billing_mode=spot&max_price=0.60"),
    }


def _named(running: Instance, noticed: Instance, waiting: Instance) -> tuple[tuple[str, Instance], ...]:
    return ("running", running), ("notice", noticed), ("waiting", waiting)


def _history(host: Host, now: datetime) -> None:
    """Two changes a day, and a bit of unrest."""
    offer, step = host.offers.get(), timedelta(hours=8, minutes=47)
    SpotPrice.objects.bulk_create(
        SpotPrice(offer=offer, at=now - step * (len(_PRICES) - number), price_micros=price * 1000, supply=4, demand=6)
        for number, price in enumerate(_PRICES)
    )


def _bid(renter: User, host: Host, name: str, most: int, gpus: int) -> Instance:
    """Placed, and what the tick that follows makes of it; what won runs."""
    offer = host.offers.get()
    quote = create_quote(
        renter=renter,
        offer_id=offer.pk,
        image="berth-base",
        gpu_count=gpus,
        billing_mode="spot",
        max_price_micros=most,
    )
    instance = rent_instance(renter=renter, quote_id=quote.pk, name=name)
    tick_offer(offer_id=offer.pk)
    instance.refresh_from_db()
    if instance.state == "requested":
        report(instance, "running")
    return instance
