"""Bids of accounts that have come to belong together with the host's owner since they bid: those that wait end."""

from itertools import groupby

from instances.core.event_messages import BARRED
from instances.lifecycle.stop import halt_instance
from instances.models import SpotBid
from instances.spot.bids import barred_bids
from instances.states import BidState


def stop_barred_bids() -> int:
    """Stop what waits on such a bid; how many. What runs goes on until it yields: then it does not come back.

    The auction leaves them out in any case; this gives back what they hold.
    """
    waiting = SpotBid.objects.filter(state=BidState.WAITING).select_related("instance__host").order_by("instance__host")
    by_owner = groupby(waiting, key=lambda bid: bid.instance.host.owner_id)
    barred = {key for owner_id, bids in by_owner for key in barred_bids(owner_id, list(bids))}
    return sum(halt_instance(instance_id=key, kind="bid_ended", detail=BARRED) for key in sorted(barred))
