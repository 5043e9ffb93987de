"""Changes of a bid by its renter: another maximum, withdrawal, or a change to another billing mode."""

from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from billing.constants import INSTANCE_SOURCE
from billing.metering.meters import raise_most
from common import clock
from common.db.transactions import use_case
from common.errors import FieldError, IllegalTransition, InvalidInput, StaleRow
from common.messages.message import Micros
from common.money import format_money
from instances.core.money_messages import BidChanged
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, retry_stale, touch_renter
from instances.metering.meters import hold_for_use
from instances.models import Instance, SpotBid
from instances.spot.bids import bid_of, check_bidder, end_bid, hint_tick
from instances.states import BidState, InstanceState
from marketplace.spot_market.services import delete_claim, make_leases_permanent

_ENDED = (BidState.ENDED, BidState.YIELDING)


def change_bid(*, renter: User, instance_id: UUID, max_price_micros: int) -> Instance:
    """Change the maximum of a bid; the container is not touched, and the same maximum changes nothing.

    An equal bid of another renter comes first afterwards. Raises BidBarred, InsufficientFunds, InvalidInput, or
    IllegalTransition without a standing bid.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        bid = _standing_bid(instance)
        check_bidder(renter_id=instance.renter_id, host_owner_id=instance.host.owner_id)
        _check_maximum(instance, max_price_micros)
        if max_price_micros != bid.max_price_micros:
            _change(instance, bid, max_price_micros)
        return instance

    with use_case():
        return retry_stale(attempt)


def withdraw_bid(*, renter: User, instance_id: UUID) -> Instance:
    """Withdraw the bid of an instance that has yielded, so that it does not start by itself.

    An instance that runs or waits is stopped instead. Repeating it changes nothing.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        bid = bid_of(instance.pk)
        if bid is None or bid.state == BidState.ENDED:
            return instance
        if instance.state not in (InstanceState.STOPPING, InstanceState.STOPPED):
            raise IllegalTransition(
                f"An instance that is {instance.state} is stopped or released instead.",
                state=instance.state,
                actions=instance.actions,
            )
        end_bid(bid)
        record_event(instance, kind="bid_withdrawn", actor=RENTER)
        touch_renter(instance)
        return instance

    with use_case():
        return retry_stale(attempt)


def leave_spot(*, instance: Instance) -> None:
    """End the bid of an instance that changes its mode; its leases can no longer be preempted.

    Call it in the caller's transaction, after the money and before the instance. Raises GpuTaken when an earlier
    order has been promised its GPUs.
    """
    make_leases_permanent(holder=instance.pk, price_micros=instance.offer.price_micros)
    bid = bid_of(instance.pk)
    if bid is not None and bid.state != BidState.ENDED:
        end_bid(bid)


def leave_queue(*, instance: Instance) -> None:
    """Remove the claim and end the bid of an instance that waits for GPUs.

    Call it after the money and before the instance changes state.
    """
    if delete_claim(holder=instance.pk):
        hint_tick(instance.offer_id)
    bid = bid_of(instance.pk)
    if bid is not None and bid.state == BidState.WAITING:
        end_bid(bid)


def _standing_bid(instance: Instance) -> SpotBid:
    bid = bid_of(instance.pk)
    if bid is None or bid.state in _ENDED:
        raise IllegalTransition(
            f"An instance that is {instance.state} has no standing bid.", state=instance.state, actions=instance.actions
        )
    return bid


def _check_maximum(instance: Instance, max_price_micros: int) -> None:
    floor = instance.offer.spot_floor_micros
    if floor is None:
        raise IllegalTransition("The spot market of this offer is closed: existing bids can't be changed.")
    if max_price_micros < floor:
        detail = _("Enter a max price per GPU-hour of %(floor)s or more.") % {"floor": format_money(floor)}
        raise InvalidInput(detail, errors=[FieldError("max_price", "invalid", detail)])


def _change(instance: Instance, bid: SpotBid, max_price_micros: int) -> None:
    """Hold more money first, then change the bid; a lower maximum keeps the hold until it is renewed."""
    before, instance.spot_max_micros = bid.max_price_micros, max_price_micros
    if max_price_micros > before:
        hold_for_use(instance)
        most = max_price_micros * bid.gpu_count
        raise_most(source_kind=INSTANCE_SOURCE, source_id=instance.pk, most_micros=most)
    same = SpotBid.objects.filter(pk=bid.pk, state=bid.state, generation=bid.generation)
    changed = {"max_price_micros": max_price_micros, "placed_at": clock.now(), "generation": bid.generation + 1}
    if not same.update(**changed):
        raise StaleRow("The bid changed meanwhile.")
    Instance.objects.filter(pk=instance.pk).update(spot_max_micros=max_price_micros)
    detail = BidChanged(before=Micros(before), after=Micros(max_price_micros))
    record_event(instance, kind="bid_changed", actor=RENTER, detail=detail)
    touch_renter(instance)
    hint_tick(bid.offer_id)
