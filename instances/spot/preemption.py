"""Preemption: losing bids get notice, then their instance is stopped, then it waits for its next turn."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from billing.errors import InsufficientFunds
from billing.pricing.estimates import SPOT
from common import clock
from common.db.prepared import Prepared
from common.db.transactions import use_case
from common.errors import IllegalTransition, StaleRow
from common.jobs import enqueue
from common.messages.message import Message, Second
from instances.constants import SPOT_NOTICE, SPOT_REST
from instances.core.money_messages import BidUnpaid, Interruption, Outbid, refusal
from instances.core.transitions import NO_PROGRESS, SYSTEM, change_state, record_event, touch_host, touch_renter
from instances.core.webhook_events import emit_preemption_notice
from instances.metering.meters import cap_use, hold_for_use
from instances.models import SpotBid
from instances.spot.bids import NOT_HELD, change_bid_state, end_bid, standing_bids
from instances.states import BidState, Desired, InstanceState

_RUNS = (
    *(InstanceState.REQUESTED, InstanceState.PROVISIONING, InstanceState.STARTING),
    *(InstanceState.RUNNING, InstanceState.RESTARTING),
)
# The states of an instance that fit its bid; in any other, the renter, the host or the wallet was faster.
_STATES_OF_BID = {
    BidState.WAITING: (InstanceState.WAITING,),
    BidState.HOLDING: _RUNS,
    BidState.NOTICE: _RUNS,
    BidState.YIELDING: (InstanceState.STOPPING, InstanceState.STOPPED),
}
# Bids that need nothing, which are nearly all.
_CONSISTENT = Q(instance__billing_mode=SPOT) & (
    Q(state=BidState.WAITING, instance__state=InstanceState.WAITING)
    | Q(state__in=[BidState.HOLDING, BidState.NOTICE], instance__state__in=_RUNS)
    | Q(state=BidState.YIELDING, instance__state=InstanceState.STOPPING)
)
_INCONSISTENT = Prepared(
    lambda offer_id: standing_bids(offer_id).exclude(_CONSISTENT).select_related("instance"), offer_id=UUID
)


def give_notice(bid: SpotBid, now: datetime) -> None:
    """Give notice, and inform container, page and renter; the rent goes on until the notice is over."""
    yields_at = now + SPOT_NOTICE
    change_bid_state(bid, BidState.NOTICE, notice_at=now, yields_at=yields_at, mailed_at=None)
    _record_and_wake(bid, kind="preempt_notice", detail=Interruption(at=Second(yields_at)))
    emit_preemption_notice(bid.instance, stops_at=f"{yields_at:%Y-%m-%dT%H:%M:%SZ}")
    enqueue("instances.queue_notice_mails")


def withdraw_notice(bid: SpotBid, *, detail: Message | None = None) -> None:
    """Withdraw a notice, because the bid wins again or its host is silent."""
    change_bid_state(bid, BidState.HOLDING, notice_at=None, yields_at=None)
    _record_and_wake(bid, kind="preempt_taken_back", detail=detail)


def preempt(bid: SpotBid) -> bool:
    """Stop an instance whose notice is over; return False when the renter or another tick was faster.

    Bid and instance change together or not at all, so that a stop has one reason: that of the first to commit.
    """
    now = clock.now()
    try:
        with use_case():
            cap_use(bid.instance)
            change_bid_state(bid, BidState.YIELDING, resumes_from=now + SPOT_REST)
            change_state(
                bid.instance,
                InstanceState.STOPPING,
                kind="preempted",
                actor=SYSTEM,
                detail=Outbid(),
                desired=Desired.STOPPED,
                stop_requested_at=now,
                **NO_PROGRESS,
            )
            touch_host(bid.instance)
    except (StaleRow, IllegalTransition):
        return False
    return True


def sync_bids_with_instances(offer_id: UUID) -> None:
    """Update bids to the state of their instances.

    What yielded and has stopped waits again; bids of ended instances end.
    """
    for bid in _INCONSISTENT.all(offer_id=offer_id):
        fits = bid.instance.state in _STATES_OF_BID[BidState(bid.state)] and bid.instance.billing_mode == SPOT
        if bid.state == BidState.YIELDING and bid.instance.state == InstanceState.STOPPED and fits:
            _wait_again(bid)
        elif not fits:
            _try_end(bid)


def _wait_again(bid: SpotBid) -> None:
    """Hold an hour at the maximum again and let the bid wait.

    A bid without money behind it would raise the price for others.
    """
    try:
        with use_case():
            hold_for_use(bid.instance)
            change_bid_state(bid, BidState.WAITING, **NOT_HELD)
            change_state(
                bid.instance,
                InstanceState.WAITING,
                kind="waits_for_gpus",
                actor=SYSTEM,
                desired=Desired.RUNNING,
                release_at=None,
            )
    except InsufficientFunds as error:
        _try_end(bid, kind="bid_ended", detail=BidUnpaid(why=refusal(error)))
    except (StaleRow, IllegalTransition):
        return


def _try_end(bid: SpotBid, *, kind: str = "", detail: Message | None = None) -> None:
    try:
        with use_case():
            end_bid(bid)
            if kind:
                record_event(bid.instance, kind=kind, actor=SYSTEM, detail=detail)
                touch_renter(bid.instance)
    except StaleRow:
        return


def _record_and_wake(bid: SpotBid, *, kind: str, detail: Message | None) -> None:
    record_event(bid.instance, kind=kind, actor=SYSTEM, detail=detail)
    touch_renter(bid.instance)
    touch_host(bid.instance)
