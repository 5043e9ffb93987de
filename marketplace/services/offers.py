"""What a host owner decides about offers: price, on the market or not, maintenance; and the sweep that proves them true."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from common import wake
from common.database import use_case
from common.errors import InvalidInput, NotFound
from marketplace.models import Host, Offer
from marketplace.services.availability import Difference, compare_offers, refresh_offers, refresh_offers_of_host
from marketplace.services.hosts import record_event
from marketplace.services.incidents import open_incident

__all__ = ["Difference", "ListingChange", "change_listing", "check_offers", "set_draining", "set_listed", "set_price"]

OFFER_DRIFT = "offer_drift"
_HIGHEST_PRICE = 10**12


@dataclass(frozen=True)
class ListingChange:
    """New price or listing of one offer; None leaves it as it is."""

    offer_id: UUID
    price_micros: int | None = None
    listed: bool | None = None


def set_price(*, actor_id: UUID, offer_id: UUID, price_micros: int) -> None:
    """A new price per GPU and hour. Running leases keep theirs; quotes of the old price are refused from now on."""
    host_id = _host_of(actor_id, offer_id)
    change = ListingChange(offer_id, price_micros=price_micros)
    change_listing(actor_id=actor_id, host_id=host_id, changes=[change])


def set_listed(*, actor_id: UUID, offer_id: UUID, listed: bool) -> None:
    """On the market or off it. Off it, running leases go on."""
    host_id = _host_of(actor_id, offer_id)
    change_listing(actor_id=actor_id, host_id=host_id, changes=[ListingChange(offer_id, listed=listed)])


def change_listing(*, actor_id: UUID, host_id: UUID, changes: Sequence[ListingChange]) -> None:
    """Several changes to the offers of one own host, all or none."""
    with use_case():
        host = _lock_own_host(actor_id, host_id)
        offers = {offer.pk: offer for offer in Offer.objects.filter(host=host)}
        for change in changes:
            if change.offer_id not in offers:
                raise NotFound("This host has no such offer.")
            _change_offer(host, offers[change.offer_id], change, actor=f"user:{actor_id.hex}")
        refresh_offers(offer_ids=list(offers))


def _change_offer(host: Host, offer: Offer, change: ListingChange, *, actor: str) -> None:
    price = offer.price_micros if change.price_micros is None else change.price_micros
    listed = offer.listed if change.listed is None else change.listed
    if not 0 <= price <= _HIGHEST_PRICE or (listed and price == 0):
        raise InvalidInput("An offer on the market needs a price above zero.")
    rows = Offer.objects.filter(pk=offer.pk)
    if price != offer.price_micros:
        rows.update(price_micros=price, version=F("version") + 1)
        detail = f"{offer.gpu_model}: {offer.price_micros} → {price}"
        record_event(host_id=host.pk, kind="price_changed", detail=detail, actor=actor)
    if listed != offer.listed:
        rows.update(listed=listed)
        kind = "offer_listed" if listed else "offer_unlisted"
        record_event(host_id=host.pk, kind=kind, detail=offer.gpu_model, actor=actor)
    offer.price_micros, offer.listed = price, listed


def set_draining(*, actor_id: UUID, host_id: UUID, draining: bool) -> None:
    """Maintenance: no new leases on the host; running ones go on."""
    with use_case():
        host = _lock_own_host(actor_id, host_id)
        if host.draining == draining:
            return
        Host.objects.filter(pk=host_id).update(draining=draining)
        kind = "draining" if draining else "draining_ended"
        record_event(host_id=host_id, kind=kind, detail="", actor=f"user:{actor_id.hex}")
        refresh_offers_of_host(host_id=host_id)
        wake.touch(f"user:{actor_id.hex}")


def check_offers(*, repair: bool) -> list[Difference]:
    """Every offer that does not say what is true. Services keep them exact, so any difference is an incident."""
    differences = compare_offers()
    for difference in differences:
        detail = f"{difference.column} says {difference.shown}, the truth is {difference.truth}."
        open_incident(kind=OFFER_DRIFT, subject=str(difference.offer_id), detail=detail)
    if repair and differences:
        with use_case():
            refresh_offers(offer_ids=sorted({difference.offer_id for difference in differences}))
    return differences


def _host_of(actor_id: UUID, offer_id: UUID) -> UUID:
    found = Offer.objects.filter(pk=offer_id, host__owner_id=actor_id).values_list("host_id", flat=True).first()
    if found is None:
        raise NotFound("There is no such offer.")
    return found


def _lock_own_host(actor_id: UUID, host_id: UUID) -> Host:
    rows = Host.objects.select_for_update(of=("self",), no_key=True)
    host = rows.filter(pk=host_id, owner_id=actor_id).order_by("pk").first()
    if host is None:
        raise NotFound("There is no such host.")
    return host
