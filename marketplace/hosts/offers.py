"""A host owner's decisions about offers (price, listing, maintenance), and the check of all offers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from uuid import UUID

from django.db.models import F, Max

from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput, NotFound
from common.messages.message import Name
from marketplace.host_messages import ListedUntil, NoEnd, OwnerDisabled
from marketplace.hosts.hosts import record_event
from marketplace.hosts.incidents import open_incident
from marketplace.hosts.price_changes import price_changes
from marketplace.incident_messages import OfferDrift
from marketplace.leasing.availability import Difference, compare_offers, refresh_offers, refresh_offers_of_host
from marketplace.models import Host, Lease, Offer
from marketplace.pricing.price_history import record_price
from marketplace.pricing.rules import PriceList, check_price_list

__all__ = [
    "Difference",
    "ListingChange",
    "Until",
    "change_listing",
    "check_offers",
    "set_draining",
    "set_listed",
    "set_listed_until",
    "set_price",
    "set_prices",
]

OFFER_DRIFT = "offer_drift"


@dataclass(frozen=True)
class ListingChange:
    """Changes to one offer; None leaves a value as it is.

    `reserved_discounts` maps terms to basis points, or to None to stop selling a term; other terms stay. `tiers`
    replaces all steps. A `spot_floor_micros` of 0 ends the spot market.
    """

    offer_id: UUID
    price_micros: int | None = None
    listed: bool | None = None
    reserved_discounts: Mapping[str, int | None] | None = None
    tiers: Sequence[tuple[int, int]] | None = None
    spot_floor_micros: int | None = None
    disk_micros_gb_day: int | None = None
    hold_bps: int | None = None


@dataclass(frozen=True)
class Until:
    """Planned end of a host on the market; None means that no end is planned."""

    at: datetime | None


def set_price(*, actor_id: UUID, offer_id: UUID, price_micros: int) -> None:
    """Set the price per GPU and hour.

    Running leases keep theirs; quotes of the old price are refused from now on.
    """
    set_prices(actor_id=actor_id, change=ListingChange(offer_id, price_micros=price_micros))


def set_prices(*, actor_id: UUID, change: ListingChange) -> None:
    """Set prices of an own offer in any mode.

    Raises:
        InvalidInput: a price is not allowed.
        NotFound: the offer is not theirs.
    """
    host_id = _host_of(actor_id, change.offer_id)
    change_listing(actor_id=actor_id, host_id=host_id, changes=[change])


def set_listed(*, actor_id: UUID, offer_id: UUID, listed: bool) -> None:
    """List an own offer or take it off the market; running leases go on."""
    host_id = _host_of(actor_id, offer_id)
    change_listing(actor_id=actor_id, host_id=host_id, changes=[ListingChange(offer_id, listed=listed)])


def set_listed_until(*, actor_id: UUID, host_id: UUID, until: datetime | None) -> None:
    """Set until when the host stays on the market.

    Raises:
        InvalidInput: the time is past, or earlier than running leases were promised.
    """
    change_listing(actor_id=actor_id, host_id=host_id, changes=[], until=Until(until))


def change_listing(*, actor_id: UUID, host_id: UUID, changes: Sequence[ListingChange], until: Until | None = None) -> None:
    """Change several offers of one own host, and how long it stays: all or none.

    Raises:
        NotFound: the host or an offer is not theirs.
        InvalidInput: a change is not allowed.
    """
    with use_case():
        host = _lock_own_host(actor_id, host_id)
        actor = f"user:{actor_id.hex}"
        offers = {offer.pk: offer for offer in Offer.objects.filter(host=host)}
        for change in changes:
            if change.offer_id not in offers:
                raise NotFound("This host doesn't have this offer.")
            _change_offer(host, offers[change.offer_id], change, actor=actor)
        if until is not None and until.at != host.listed_until:
            _change_end(host, until.at, actor=actor)
        refresh_offers(offer_ids=list(offers))


def _change_offer(host: Host, offer: Offer, change: ListingChange, *, actor: str) -> None:
    old, new = _prices_of(offer), _changed_prices(offer, change)
    listed = offer.listed if change.listed is None else change.listed
    check_price_list(new, listed=listed)
    rows = Offer.objects.filter(pk=offer.pk)
    if new != old:
        rows.update(version=F("version") + 1, **asdict(new))
        for name, value in asdict(new).items():
            setattr(offer, name, value)
        record_event(host_id=host.pk, kind="price_changed", detail=price_changes(offer.gpu_model, old, new), actor=actor)
    if (new.price_micros, new.spot_floor_micros) != (old.price_micros, old.spot_floor_micros):
        record_price(offer=offer)
    if listed != offer.listed:
        rows.update(listed=listed)
        kind = "offer_listed" if listed else "offer_unlisted"
        record_event(host_id=host.pk, kind=kind, detail=Name(name=offer.gpu_model), actor=actor)
    offer.listed = listed


def _prices_of(offer: Offer) -> PriceList:
    return PriceList(**{field.name: getattr(offer, field.name) for field in fields(PriceList)})


def _changed_prices(offer: Offer, change: ListingChange) -> PriceList:
    terms = offer.reserved_discounts | dict(change.reserved_discounts or {})
    floor = offer.spot_floor_micros if change.spot_floor_micros is None else change.spot_floor_micros or None
    return PriceList(
        price_micros=offer.price_micros if change.price_micros is None else change.price_micros,
        reserved_discounts={term: off_bps for term, off_bps in terms.items() if off_bps is not None},
        tiers=offer.tiers if change.tiers is None else [list(step) for step in change.tiers],
        spot_floor_micros=floor,
        disk_micros_gb_day=offer.disk_micros_gb_day if change.disk_micros_gb_day is None else change.disk_micros_gb_day,
        hold_bps=offer.hold_bps if change.hold_bps is None else change.hold_bps,
    )


def _change_end(host: Host, at: datetime | None, *, actor: str) -> None:
    if at is not None:
        _check_end(host, at)
    Host.objects.filter(pk=host.pk).update(listed_until=at)
    detail = NoEnd() if at is None else ListedUntil(at=at)
    record_event(host_id=host.pk, kind="listed_until_changed", detail=detail, actor=actor)


def _check_end(host: Host, at: datetime) -> None:
    if at <= clock.now():
        raise _wrong_end("The end lies in the future; to leave at once, take the offers off the market.")
    live = Lease.objects.filter(gpu__host=host, released_at__isnull=True)
    promised = live.aggregate(latest=Max("promised_until"))["latest"]
    if promised is not None and at < promised:
        raise _wrong_end(f"A running lease was promised to last until {promised:%Y-%m-%d %H:%M} UTC.")


def _wrong_end(detail: str) -> InvalidInput:
    return InvalidInput(detail, errors=[FieldError("listed_until", "invalid", detail)])


def set_draining(*, actor_id: UUID, host_id: UUID, draining: bool) -> None:
    """Start or stop draining: no new leases on the host; running ones go on."""
    with use_case():
        host = _lock_own_host(actor_id, host_id)
        if host.draining == draining:
            return
        Host.objects.filter(pk=host_id).update(draining=draining)
        kind = "draining" if draining else "draining_ended"
        record_event(host_id=host_id, kind=kind, actor=f"user:{actor_id.hex}")
        refresh_offers_of_host(host_id=host_id)
        change_counters.notify_change(f"user:{actor_id.hex}")


def drain_suspended() -> int:
    """Drain hosts whose owners' accounts staff have disabled, and return how many."""
    drained = 0
    for host_id in Host.objects.filter(owner__is_active=False, draining=False).order_by("pk").values_list("pk", flat=True):
        with use_case():
            if Host.objects.filter(pk=host_id, draining=False).update(draining=True):
                drained += 1
                record_event(host_id=host_id, kind="draining", detail=OwnerDisabled(), actor="sweep")
                refresh_offers_of_host(host_id=host_id)
    return drained


def check_offers(*, repair: bool) -> list[Difference]:
    """Return every offer that differs from the facts, and open an incident for each.

    Services keep offers exact, so any difference is an error; with `repair` it is corrected.
    """
    differences = compare_offers()
    for difference in differences:
        shown, truth = str(difference.shown), str(difference.truth)
        detail = OfferDrift(column=difference.column, shown=shown, truth=truth)
        open_incident(kind=OFFER_DRIFT, subject=str(difference.offer_id), detail=detail)
    if repair and differences:
        with use_case():
            refresh_offers(offer_ids=sorted({difference.offer_id for difference in differences}))
    return differences


def _host_of(actor_id: UUID, offer_id: UUID) -> UUID:
    found = Offer.objects.filter(pk=offer_id, host__owner_id=actor_id).values_list("host_id", flat=True).first()
    if found is None:
        raise NotFound("This offer doesn't exist.")
    return found


def _lock_own_host(actor_id: UUID, host_id: UUID) -> Host:
    rows = Host.objects.select_for_update(of=("self",), no_key=True)
    host = rows.filter(pk=host_id, owner_id=actor_id).order_by("pk").first()
    if host is None:
        raise NotFound("This host doesn't exist.")
    return host
