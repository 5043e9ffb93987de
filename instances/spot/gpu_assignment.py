"""Assignment of free GPUs: claims of accepted orders first, then winners of the auction, by rank."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction

from common.errors import IllegalTransition, StaleRow
from instances.core.transitions import RESET_FOR_NEW_RUN, SYSTEM, change_state, touch_to_run
from instances.models import Instance, SpotBid
from instances.spot.bids import change_bid_state
from instances.states import BidState, Desired, InstanceState
from marketplace.errors import GpuTaken
from marketplace.leasing.lease import LeasedGpus
from marketplace.spot_market.services import SpotMarket, delete_claim, lease_claimed, lease_spot, open_spot_market

if TYPE_CHECKING:
    from marketplace.models import Claim

logger = logging.getLogger(__name__)


def assign_to_claims(market: SpotMarket) -> SpotMarket:
    """Serve claims strictly in their order; a later one never gets what an earlier one waits for."""
    for claim in market.claims:
        if market.free < claim.gpu_count or not market.host_online:
            break
        if not _serve(market, claim):
            break
        market = _reread_market(market)
    return market


def assign_to_winners(market: SpotMarket, winners: Sequence[SpotBid], now: datetime) -> list[SpotBid]:
    """Lease GPUs to waiting winners, and return those for whom enough are free."""
    granted, left = [], market.free - market.claimed
    for bid in winners:
        if bid.gpu_count <= left and _grant(market, bid, now):
            left -= bid.gpu_count
            granted.append(bid)
    return granted


def _serve(market: SpotMarket, claim: "Claim") -> bool:
    """Lease GPUs for a claim; return False when it must go on waiting.

    The claim of an order that has ended meanwhile is removed.
    """
    instance = Instance.objects.filter(pk=claim.holder).first()
    if instance is None or instance.state != InstanceState.WAITING:
        delete_claim(holder=claim.holder)
        return True
    try:
        with transaction.atomic():
            leased = lease_claimed(market, claim, prefer=instance.gpu_uuids)
            _start_instance(instance, leased, kind="gpus_free")
    except (GpuTaken, StaleRow, IllegalTransition) as error:
        logger.info("the claim of %s is not served yet: %s", claim.holder, error)
        return False
    return True


def _grant(market: SpotMarket, bid: SpotBid, now: datetime) -> bool:
    instance, price = bid.instance, bid.price_micros or 0
    try:
        with transaction.atomic():
            leased = lease_spot(market, holder=bid.pk, count=bid.gpu_count, price_micros=price, prefer=instance.gpu_uuids)
            began = {"held_since": now, "price_micros": price, "floor_micros": market.offer.spot_floor_micros}
            change_bid_state(bid, BidState.HOLDING, resumes_from=None, **began)
            _start_instance(instance, leased, kind="bid_won", rate_micros_per_hour=price * bid.gpu_count)
    except (GpuTaken, StaleRow, IllegalTransition) as error:
        logger.info("bid of %s is not served yet: %s", bid.pk, error)
        return False
    return True


def _start_instance(instance: Instance, leased: LeasedGpus, *, kind: str, **fields: Any) -> None:
    """Start a waiting instance, for the first time or again, with a new fence and run generation."""
    first = instance.observed_generation == 0
    change_state(
        instance,
        InstanceState.REQUESTED if first else InstanceState.STARTING,
        kind=kind,
        actor=SYSTEM,
        desired=Desired.RUNNING,
        run_generation=instance.run_generation + 1,
        fence=instance.fence + 1,
        gpu_uuids=list(leased.gpu_uuids),
        cpu_millis=leased.cpu_millis,
        ram_mb=leased.ram_mb,
        **RESET_FOR_NEW_RUN,
        **fields,
    )
    touch_to_run(instance)


def _reread_market(market: SpotMarket) -> SpotMarket:
    """Count the market again under the same locks."""
    found = open_spot_market(market.offer.pk)
    assert found is not None
    return found
