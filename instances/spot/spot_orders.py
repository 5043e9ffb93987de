"""An order's GPUs: leased at once, or waited for when spot rents can make room or a bid does not win yet."""

from typing import TYPE_CHECKING
from uuid import UUID

from billing.pricing.estimates import SPOT
from instances.models import Instance, Quote
from instances.spot.bids import hint_tick, place_again, place_bid
from marketplace.leasing.lease import LeasedGpus, lease_gpus
from marketplace.spot_market.services import lease_or_claim

if TYPE_CHECKING:
    from marketplace.models import Offer


def lease_or_wait(*, quote: Quote, instance_id: UUID) -> LeasedGpus | None:
    """The GPUs of the order, leased inside the caller's transaction; None: it waits, and its instance begins WAITING.

    A spot order always waits for the tick that follows it at once. Raises what `lease_gpus` raises when neither can be.
    """
    if quote.billing_mode == SPOT:
        place_bid(quote=quote, instance_id=instance_id)
        return None
    return _lease_or_claim(
        quote.offer, count=quote.gpu_count, holder=instance_id, expected_version=quote.offer_version, prefer=()
    )


def start_or_wait(*, instance: Instance, in_line: bool = False) -> LeasedGpus | None:
    """The same for a stopped instance that is to run again, with its offer loaded; None: it goes on to WAITING.

    `in_line`: it waits also for GPUs that nobody has to give back, after those who came earlier.
    """
    if instance.billing_mode == SPOT:
        place_again(instance=instance)
        return None
    return _lease_or_claim(
        instance.offer,
        count=instance.gpu_count,
        holder=instance.pk,
        expected_version=instance.offer.version,
        prefer=instance.gpu_uuids,
        in_line=in_line,
    )


def _lease_or_claim(
    offer: "Offer",
    *,
    count: int,
    holder: UUID,
    expected_version: int,
    prefer: list[str] | tuple[str, ...],
    in_line: bool = False,
) -> LeasedGpus | None:
    """Only an offer that knows spot, or an order that stands in line, takes the way on which an order can wait."""
    order = {"offer_id": offer.pk, "count": count, "holder": holder, "expected_version": expected_version, "prefer": prefer}
    if offer.spot_floor_micros is None and not offer.gpu_spot and not in_line:
        return lease_gpus(**order)  # type: ignore[arg-type]  # its arguments by name
    leased = lease_or_claim(**order, in_line=in_line)  # type: ignore[arg-type]  # as above
    hint_tick(offer.pk)
    return leased
