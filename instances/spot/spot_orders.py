"""GPUs for an order: leased at once, or waited for with a claim or a bid."""

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
    """Lease the order's GPUs in the caller's transaction, or return None for an instance that waits.

    It waits for GPUs of spot rents that are being stopped; a spot order always waits for the tick that follows at
    once. Raises what `lease_gpus` raises when neither is possible.
    """
    if quote.billing_mode == SPOT:
        place_bid(quote=quote, instance_id=instance_id)
        return None
    return _lease_or_claim(
        quote.offer, count=quote.gpu_count, holder=instance_id, expected_version=quote.offer_version, prefer=()
    )


def start_or_wait(*, instance: Instance, queue: bool = False) -> LeasedGpus | None:
    """Lease GPUs for a stopped instance, or return None when it waits; the offer must be loaded.

    With `queue`, it also waits for GPUs that no spot rent holds, after earlier claims.
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
        queue=queue,
    )


def _lease_or_claim(
    offer: "Offer",
    *,
    count: int,
    holder: UUID,
    expected_version: int,
    prefer: list[str] | tuple[str, ...],
    queue: bool = False,
) -> LeasedGpus | None:
    """Lease GPUs or claim them.

    Only an offer with a spot market, or an order that queues, takes the locks on which claims rely.
    """
    order = {"offer_id": offer.pk, "count": count, "holder": holder, "expected_version": expected_version, "prefer": prefer}
    if offer.spot_floor_micros is None and not offer.gpu_spot and not queue:
        return lease_gpus(**order)  # type: ignore[arg-type]  # its arguments by name
    leased = lease_or_claim(**order, queue=queue)  # type: ignore[arg-type]  # as above
    hint_tick(offer.pk)
    return leased
