"""Bids: who may place them, placing with an order or a start, and ending."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import get_language

from accounts.mail.outbox import withdraw_mails
from billing.constants import INSTANCE_SOURCE
from billing.metering.costs import open_holds
from billing.people.related_accounts import related_accounts
from billing.pricing.rates import hold_for
from common import clock
from common.jobs import enqueue
from common.transitions import move
from instances.errors import BidBarred
from instances.models import Instance, Quote, SpotBid
from instances.states import BID_MACHINE, BidState
from marketplace.spot_market.selectors import has_waiting_claims
from marketplace.spot_market.services import check_spot_order

NOT_HELD = {
    **{"price_micros": None, "floor_micros": None, "held_since": None},
    **{"notice_at": None, "yields_at": None, "mailed_at": None},
}
_BARRED = (
    "Nobody bids on GPUs of their own: a host's owner, members of a team of theirs, and accounts that share a card or a"
    " payout account with them. Rent by the hour, or bid on another offer."
)


def standing_bids(offer_id: UUID) -> QuerySet[SpotBid]:
    """Return the bids that have not ended."""
    return SpotBid.objects.filter(offer_id=offer_id).exclude(state=BidState.ENDED).order_by("pk")


def bid_of(instance_id: UUID) -> SpotBid | None:
    return SpotBid.objects.filter(pk=instance_id).select_related("instance").first()


def check_bidder(*, renter_id: UUID, host_owner_id: UUID) -> None:
    """Raise BidBarred for the host's owner and connected accounts.

    A bid that need not win would set the price that others pay them.
    """
    if renter_id in related_accounts(host_owner_id):
        raise BidBarred(_BARRED)


def self_dealing_bids(host_owner_id: UUID, bids: Sequence[SpotBid]) -> set[UUID]:
    """Return the bids whose bidder may no longer bid on hosts of this owner.

    They must be read with their instances.
    """
    related = related_accounts(host_owner_id) if bids else frozenset()
    return {bid.pk for bid in bids if bid.instance.renter_id in related}


def bids_with_money(bids: Sequence[SpotBid]) -> set[UUID]:
    """Return the bids behind which an hour at their maximum is held.

    For a rent that runs, the meter takes care of that.
    """
    waiting = [bid for bid in bids if bid.state == BidState.WAITING]
    held = open_holds(source_kind=INSTANCE_SOURCE, source_ids=[bid.pk for bid in waiting]) if waiting else {}
    short = {bid.pk for bid in waiting if held.get(bid.pk, -1) < hold_for(bid.max_price_micros * bid.gpu_count)}
    return {bid.pk for bid in bids} - short


def place_bid(*, quote: Quote, instance_id: UUID) -> None:
    """Place the bid of an order in its transaction.

    Raises BidBarred, OfferClosed, PriceChanged or InvalidInput.
    """
    most = quote.max_price_micros or 0
    check_bidder(renter_id=quote.renter_id, host_owner_id=quote.offer.host.owner_id)
    check_spot_order(
        offer_id=quote.offer_id,
        count=quote.gpu_count,
        max_price_micros=most,
        expected_version=quote.offer_version,
    )
    SpotBid.objects.create(
        instance_id=instance_id,
        offer_id=quote.offer_id,
        gpu_count=quote.gpu_count,
        max_price_micros=most,
        language=get_language() or "en",
    )
    hint_tick(quote.offer_id)


def place_again(*, instance: Instance) -> None:
    """Place the bid again when a stopped spot instance starts, behind equal bids placed meanwhile."""
    bid, most = bid_of(instance.pk), instance.spot_max_micros or 0
    check_bidder(renter_id=instance.renter_id, host_owner_id=instance.host.owner_id)
    check_spot_order(offer_id=instance.offer_id, count=instance.gpu_count, max_price_micros=most, expected_version=None)
    if bid is None:
        SpotBid.objects.create(
            instance=instance, offer_id=instance.offer_id, gpu_count=instance.gpu_count, max_price_micros=most
        )
    else:
        again = {**NOT_HELD, "placed_at": clock.now(), "ended_at": None, "max_price_micros": most}
        change_bid_state(bid, BidState.WAITING, **again)
    hint_tick(instance.offer_id)


def end_bid(bid: SpotBid) -> None:
    """End a bid; whoever waits for its GPUs gets them once they are proven free."""
    change_bid_state(bid, BidState.ENDED, **NOT_HELD, ended_at=clock.now())
    hint_tick(bid.offer_id)


def change_bid_state(bid: SpotBid, target: BidState, **fields: Any) -> None:
    """Change the state by compare-and-swap, or raise StaleRow or IllegalTransition.

    The caller records an event of the instance. The mail about a notice that is over is withdrawn, unless it was
    sent.
    """
    queued = [bid.mail_key] if bid.state == BidState.NOTICE else []
    move(bid, target, machine=BID_MACHINE, reason=target, actor="", **fields)
    if queued:
        withdraw_mails(queued)


def hint_freed_gpus(offer_id: UUID) -> None:
    """Request a tick when GPUs of the offer have become free and somebody waits for them."""
    waits = SpotBid.objects.filter(offer_id=offer_id).exclude(state=BidState.ENDED).exists()
    if waits or has_waiting_claims(offer_id):
        hint_tick(offer_id)


def hint_tick(offer_id: UUID) -> None:
    """Enqueue a tick of this offer after the transaction; the sweep would come within a minute anyway."""
    enqueue("instances.tick_offer", offer_id.hex)
