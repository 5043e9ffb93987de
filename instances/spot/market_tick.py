"""The tick: one offer's auction and its consequences, in steps that are independent and repeatable."""

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import F

from billing.constants import INSTANCE_SOURCE
from billing.metering.meters import reprice_meter
from common import clock
from common.db.prepared import Prepared
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from instances.constants import SPOT_RUN_AT_LEAST, SWEEP_BATCH
from instances.core.money_messages import SilentHost
from instances.core.transitions import touch_renter
from instances.models import Instance, SpotBid
from instances.spot.bids import bids_with_money, self_dealing_bids, standing_bids
from instances.spot.gpu_assignment import assign_to_claims, assign_to_winners
from instances.spot.preemption import give_notice, preempt, sync_bids_with_instances, withdraw_notice
from instances.states import BidState
from marketplace.spot_market.clearing import Bid, Outcome, auction
from marketplace.spot_market.selectors import offers_with_claims
from marketplace.spot_market.services import SpotMarket, open_spot_market, publish_price

logger = logging.getLogger(__name__)

_HOLDS = (BidState.HOLDING, BidState.NOTICE)
_STANDING = Prepared(lambda offer_id: standing_bids(offer_id).select_related("instance"), offer_id=UUID)
_STALE = Prepared(
    lambda offer_id: (
        standing_bids(offer_id)
        .filter(state__in=_HOLDS, price_micros__isnull=False)
        .exclude(instance__rate_micros_per_hour=F("price_micros") * F("gpu_count"))
        .select_related("instance")
    ),
    offer_id=UUID,
)


def tick_all() -> int:
    """Tick every offer with bids or claims and return how many; a failing one does not stop the others."""
    bids = SpotBid.objects.exclude(state=BidState.ENDED).values_list("offer_id", flat=True)
    return sum(_try_tick(offer_id) for offer_id in sorted({*bids.order_by().distinct(), *offers_with_claims()}))


def tick_due(*, now: datetime) -> int:
    """Tick the offers where a notice is over, to the second instead of to the minute; return how many."""
    due = SpotBid.objects.filter(state=BidState.NOTICE, yields_at__lte=now).order_by("yields_at")[:SWEEP_BATCH]
    return sum(_try_tick(offer_id) for offer_id in sorted(set(due.values_list("offer_id", flat=True))))


def tick_offer(*, offer_id: UUID) -> None:
    """Hold the auction of one offer now.

    Concurrent ticks are safe, since the offer's lock lets one decide at a time.
    """
    sync_bids_with_instances(offer_id)
    for bid in _decide(offer_id):
        preempt(bid)
    apply_prices(offer_id)


def _try_tick(offer_id: UUID) -> bool:
    try:
        tick_offer(offer_id=offer_id)
    except DomainError:
        logger.exception("the spot market of offer %s was passed over", offer_id)
        return False
    return True


def _decide(offer_id: UUID) -> list[SpotBid]:
    """Serve claims, give notices, grant GPUs and publish the price, under the offer's lock.

    Returns the bids whose notice is over, which are to be stopped.
    """
    with use_case():
        market = open_spot_market(offer_id)
        if market is None:
            return []
        now, bids = clock.now(), _STANDING.all(offer_id=offer_id)
        if not market.host_online:
            _withdraw_notices(bids)
            return []
        market = assign_to_claims(market)
        outcome = auction(entries(market, bids, now), supply=market.supply, floor_micros=floor_of(market))
        _update_notices(bids, outcome, now)
        _price(market, bids, outcome, now)
        _grant(market, bids, outcome, now)
        lost = [bid for bid in bids if bid.state == BidState.NOTICE]
        return [bid for bid in lost if bid.yields_at is not None and bid.yields_at <= now]


def entries(market: SpotMarket, bids: Sequence[SpotBid], now: datetime) -> list[Bid]:
    """Return the bids as the auction's input; they must be read with their instances.

    Where no new rent may begin, only bids that hold GPUs take part. A barred account's bid that holds GPUs takes part
    but raises nobody's price; nor does a bid without money held behind it.
    """
    sells = market.accepts_rentals and market.offer.spot_floor_micros is not None
    barred, backed = self_dealing_bids(market.host.owner_id, bids), bids_with_money(bids)
    return [
        _entry(bid, now, backed=bid.pk in backed and bid.pk not in barred)
        for bid in bids
        if bid.state in _HOLDS or (sells and bid.pk not in barred)
    ]


def floor_of(market: SpotMarket) -> int:
    """Return the floor, or the last price where the host has closed the market.

    Renters who hold GPUs there go on at the price that was agreed.
    """
    offer = market.offer
    return offer.spot_floor_micros if offer.spot_floor_micros is not None else offer.spot_now_micros or 0


def _entry(bid: SpotBid, now: datetime, *, backed: bool) -> Bid:
    holds = bid.state in _HOLDS
    waits = bid.state == BidState.WAITING
    return Bid(
        key=bid.pk,
        max_micros=bid.max_price_micros,
        placed_at=bid.placed_at,
        gpus=bid.gpu_count,
        holds=holds,
        sits=holds and bid.held_since is not None and now < bid.held_since + SPOT_RUN_AT_LEAST,
        rests=bid.state == BidState.YIELDING or (waits and bid.resumes_from is not None and now < bid.resumes_from),
        began_at_micros=bid.floor_micros if holds else None,
        backed=backed,
    )


def _withdraw_notices(bids: Sequence[SpotBid]) -> None:
    """Withdraw the notices on a silent host, whose containers cannot receive them.

    They get the whole notice once the host reports again.
    """
    for bid in bids:
        if bid.state == BidState.NOTICE:
            withdraw_notice(bid, detail=SilentHost())


def _update_notices(bids: Sequence[SpotBid], outcome: Outcome, now: datetime) -> None:
    won = set(outcome.winners)
    for bid in bids:
        if bid.state == BidState.HOLDING and bid.pk not in won:
            give_notice(bid, now)
        elif bid.state == BidState.NOTICE and bid.pk in won:
            withdraw_notice(bid)


def _price(market: SpotMarket, bids: Sequence[SpotBid], outcome: Outcome, now: datetime) -> None:
    """Publish the price and store what each bid pays: one price for all, at most the own maximum.

    The rents' rates change in transactions of their own (`apply_prices`).
    """
    if market.offer.spot_floor_micros is None:
        return
    publish_price(market, price_micros=outcome.price_micros, demand=outcome.demand, at=now)
    won, changed = set(outcome.winners), []
    for bid in bids:
        pays = outcome.pays.get(bid.pk)
        if pays != bid.price_micros and (bid.state in _HOLDS or bid.pk in won):
            bid.price_micros = pays
            changed.append(bid)
    SpotBid.objects.bulk_update([bid for bid in changed if bid.state in _HOLDS], ["price_micros"])


def _grant(market: SpotMarket, bids: Sequence[SpotBid], outcome: Outcome, now: datetime) -> None:
    by_key = {bid.pk: bid for bid in bids}
    waiting = [by_key[key] for key in outcome.winners if by_key[key].state == BidState.WAITING]
    assign_to_winners(market, waiting, now)


def apply_prices(offer_id: UUID) -> int:
    """Apply present prices to rents that hold GPUs; return how many rates have changed.

    Each has its own transaction, meter before instance. A tick that broke off here is completed by the next one, and
    no past time is repriced. The container is not touched.
    """
    return sum(_apply(bid) for bid in _STALE.all(offer_id=offer_id))


def _apply(bid: SpotBid) -> bool:
    instance, rate = bid.instance, (bid.price_micros or 0) * bid.gpu_count
    try:
        with use_case():
            reprice_meter(source_kind=INSTANCE_SOURCE, source_id=instance.pk, rate_micros=rate, at=clock.now())
            # The generation grows, so that a report that is just opening the meter at the old rate fails and is
            # repeated.
            same = Instance.objects.filter(pk=instance.pk, generation=instance.generation)
            if not same.update(rate_micros_per_hour=rate, generation=instance.generation + 1):
                raise StaleRow("The instance moved meanwhile.")
            touch_renter(instance)
    except StaleRow:
        return False
    return True
