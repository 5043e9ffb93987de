"""Waiting bids of accounts that were linked to the host's owner after they bid."""

from itertools import groupby

from instances.core.money_messages import BidBarred
from instances.lifecycle.stop import halt_instance
from instances.models import SpotBid
from instances.spot.bids import self_dealing_bids
from instances.states import BidState


def stop_self_dealing_bids() -> int:
    """Stop instances that wait on such a bid, and return their number.

    Running ones continue until they are preempted, and then are not started again. The auction ignores these bids in
    any case; this sweep releases the funds held for them.
    """
    waiting = SpotBid.objects.filter(state=BidState.WAITING).select_related("instance__host").order_by("instance__host")
    by_owner = groupby(waiting, key=lambda bid: bid.instance.host.owner_id)
    barred = {key for owner_id, bids in by_owner for key in self_dealing_bids(owner_id, list(bids))}
    return sum(halt_instance(instance_id=key, kind="bid_ended", detail=BidBarred()) for key in sorted(barred))
