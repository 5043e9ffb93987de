"""Spot rents on the market's side: locked offers, claims of orders, preemptible leases, the price."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from common.db.prepared import Prepared
from common.errors import InvalidInput, NotFound
from marketplace.constants import ENGINE_SLOW_AFTER_S
from marketplace.errors import GpuTaken, OfferClosed
from marketplace.leasing.availability import lock_offers, refresh_offers
from marketplace.leasing.lease import (
    LeasedGpus,
    check_open,
    check_share,
    check_version,
    choose_gpus,
    lease_gpus,
    leased_gpus,
    write_leases,
)
from marketplace.models import Claim, Host, Lease, Offer, SpotPrice
from marketplace.states import HostState

_HOST = Prepared(
    lambda offer_id: Host.objects.select_for_update(of=("self",), no_key=True).filter(offers__id=offer_id).order_by("pk"),
    offer_id=UUID,
)
_CLAIMS = Prepared(lambda offer_id: Claim.objects.filter(offer_id=offer_id).order_by("made_at", "pk"), offer_id=UUID)

# Independent of the offer's own columns: they are 0 while it is closed, and a running rent is not affected by that.
_GPUS = """
SELECT count(*) FILTER (WHERE g.present AND g.healthy AND NOT g.quarantined AND l.id IS NULL), count(*) FILTER (WHERE l.spot)
FROM marketplace_gpu g LEFT JOIN marketplace_lease l ON l.gpu_id = g.id AND l.released_at IS NULL
WHERE g.offer_id = %s
"""


@dataclass
class SpotMarket:
    """One offer with its host, both locked to the end of the transaction.

    `free` GPUs have no lease, `spot` are leased to spot rents; `claims` wait and can be served from those, oldest
    first. `host_online`: the host's agent reports, so a notice would reach the container. `accepts_rentals`: new rentals
    can start.
    """

    host: Host
    offer: Offer
    free: int
    spot: int
    claims: list[Claim]

    @property
    def host_online(self) -> bool:
        return self.host.state == HostState.ONLINE and self.host.engine_age_s < ENGINE_SLOW_AFTER_S

    @property
    def accepts_rentals(self) -> bool:
        return self.host_online and self.offer.listed and not self.host.draining and not self.host.closed_for_now

    @property
    def claimed(self) -> int:
        return sum(claim.gpu_count for claim in self.claims)

    @property
    def supply(self) -> int:
        """Return the GPUs that hourly and reserved rents neither use nor wait for."""
        return max(0, self.free + self.spot - self.claimed)


def open_spot_market(offer_id: UUID) -> SpotMarket | None:
    """Lock host, then offer, and return the market, or None without such an offer.

    Runs inside the caller's transaction.
    """
    host = _HOST.first(offer_id=offer_id)
    if host is None:
        return None
    [offer] = lock_offers([offer_id])
    return _counted(host, offer)


def view_spot_market(offer_id: UUID) -> SpotMarket:
    """Return the market as of now, without locks, for display.

    Raises:
        NotFound: there is no such offer.
    """
    offer = Offer.objects.select_related("host").filter(pk=offer_id).first()
    if offer is None:
        raise NotFound("This offer doesn't exist.")
    return _counted(offer.host, offer)


def _counted(host: Host, offer: Offer) -> SpotMarket:
    with connection.cursor() as cursor:
        cursor.execute(_GPUS, [offer.pk])
        free, spot = cursor.fetchone()
    return SpotMarket(host, offer, free, spot, _that_fit(_CLAIMS.all(offer_id=offer.pk), free + spot))


def _that_fit(claims: Sequence[Claim], room: int) -> list[Claim]:
    """Return, in order, the claims that can be served from the remaining room.

    One that needs more waits, and nothing is kept back for it; `availability` counts in the same way.
    """
    fit = []
    for claim in claims:
        if claim.gpu_count <= room:
            room -= claim.gpu_count
            fit.append(claim)
    return fit


# -- waiting orders


def lease_or_claim(
    *,
    offer_id: UUID,
    count: int,
    holder: UUID,
    expected_version: int | None,
    prefer: Sequence[str] = (),
    queue: bool = False,
) -> LeasedGpus | None:
    """Lease GPUs, or claim them and return None if spot rents must be preempted first.

    A claim counts at once: nobody else gets GPUs that it waits for. When even all spot rents together could not
    make room, it raises what `lease_gpus` raises, or with `queue` claims GPUs that become free, after earlier
    claims.
    """
    with transaction.atomic(savepoint=False):
        market = open_spot_market(offer_id)
        if market is None or market.offer.gpu_free >= count:
            return lease_gpus(
                offer_id=offer_id, count=count, holder=holder, expected_version=expected_version, prefer=prefer
            )
        offer = market.offer
        check_open(market.host, offer)
        check_version(offer, expected_version)
        if offer.gpu_free + offer.gpu_spot < count and not queue:
            raise GpuTaken(f"{count} GPUs requested, {offer.gpu_free + offer.gpu_spot} available.")
        Claim.objects.create(holder=holder, offer=offer, gpu_count=count, price_micros=offer.price_micros)
        refresh_offers(offer_ids=[offer_id], locked=True)
    return None


def lease_claimed(market: SpotMarket, claim: Claim, *, prefer: Sequence[str] = ()) -> LeasedGpus:
    """Turn the claim into leases, even if the offer was closed after the order was accepted.

    Raises:
        GpuTaken: too few GPUs are free.
    """
    check_share(market.host, market.offer, claim.gpu_count)
    gpus = choose_gpus(market.offer, claim.gpu_count, prefer)
    if len(gpus) < claim.gpu_count:
        raise GpuTaken(f"{claim.gpu_count} GPUs are claimed, {len(gpus)} are free.")
    write_leases(market.offer, gpus, claim.holder, price_micros=claim.price_micros)
    Claim.objects.filter(pk=claim.pk).delete()
    refresh_offers(offer_ids=[market.offer.pk], locked=True)
    return leased_gpus(market.offer, gpus, price_micros=claim.price_micros)


def delete_claim(*, holder: UUID) -> bool:
    """Delete the holder's claim and return whether there was one.

    Locks host and offer: before leases and instances.
    """
    claim = Claim.objects.filter(holder=holder).first()
    if claim is None:
        return False
    with transaction.atomic(savepoint=False):
        lock_offers([claim.offer_id])
        dropped, _ = Claim.objects.filter(holder=holder).delete()
        refresh_offers(offer_ids=[claim.offer_id], locked=True)
    return bool(dropped)


# -- spot rents


def check_spot_order(*, offer_id: UUID, count: int, max_price_micros: int, expected_version: int | None) -> None:
    """Refuse a bid that may not be placed.

    Raises:
        OfferClosed: the offer has no spot market or is not open.
        PriceChanged: the offer has another version.
        InvalidInput: number of GPUs or price is not allowed.
    """
    offer = Offer.objects.select_related("host").filter(pk=offer_id).first()
    if offer is None or offer.spot_floor_micros is None:
        raise OfferClosed("This offer has no spot market.")
    check_open(offer.host, offer)
    check_version(offer, expected_version)
    if not 1 <= count <= offer.gpu_total:
        raise InvalidInput(f"Bid for 1 to {offer.gpu_total} GPUs of this offer.")
    if max_price_micros < offer.spot_floor_micros:
        raise InvalidInput("The max price must be at least this offer's floor price.")


def lease_spot(market: SpotMarket, *, holder: UUID, count: int, price_micros: int, prefer: Sequence[str] = ()) -> LeasedGpus:
    """Lease GPUs to a spot rent, which can be preempted; GPUs that a claim waits for are left out.

    Raises:
        GpuTaken: too few GPUs are free.
    """
    check_share(market.host, market.offer, count)
    gpus = choose_gpus(market.offer, count, prefer) if market.free - market.claimed >= count else []
    if len(gpus) < count:
        raise GpuTaken(f"{count} GPUs won, {len(gpus)} are free.")
    write_leases(market.offer, gpus, holder, spot=True, price_micros=price_micros)
    refresh_offers(offer_ids=[market.offer.pk], locked=True)
    return leased_gpus(market.offer, gpus, price_micros=price_micros)


def make_leases_permanent(*, holder: UUID, price_micros: int) -> None:
    """Turn a spot rent into one that is not preempted.

    Raises:
        GpuTaken: its GPUs are promised to an order.
    """
    leases = Lease.objects.filter(holder=holder, released_at__isnull=True, spot=True)
    offer_id = leases.values_list("offer_id", flat=True).first()
    if offer_id is None:
        return
    with transaction.atomic(savepoint=False):
        market = open_spot_market(offer_id)
        assert market is not None
        if market.free + market.spot - leases.count() < market.claimed:
            raise GpuTaken("An earlier order is waiting for these GPUs.")
        leases.update(spot=False, price_micros=price_micros)
        refresh_offers(offer_ids=[offer_id], locked=True)


def publish_price(market: SpotMarket, *, price_micros: int, demand: int, at: datetime) -> None:
    """Set the offer's spot price from now on, and add changes to its public history."""
    offer, floor = market.offer, market.offer.spot_floor_micros
    latest = SpotPrice.objects.filter(offer=offer).order_by("-at", "-id").first()
    shown = None if price_micros == floor else price_micros
    if shown != offer.spot_now_micros:
        Offer.objects.filter(pk=offer.pk).update(spot_now_micros=shown)
        offer.spot_now_micros = shown
    if latest is None or latest.price_micros != price_micros:
        SpotPrice.objects.create(offer=offer, at=at, price_micros=price_micros, supply=market.supply, demand=demand)
