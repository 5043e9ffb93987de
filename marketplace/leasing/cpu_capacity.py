"""Check of room on a host for a container without GPUs, inside the transaction of its start."""

from uuid import UUID

from common.errors import NotFound
from marketplace.constants import ENGINE_SLOW_AFTER_S
from marketplace.errors import OfferClosed
from marketplace.leasing.lease import lock_host_of
from marketplace.models import Host
from marketplace.states import HostState


def lock_host_for_cpu(offer_id: UUID) -> Host:
    """Lock and return the offer's host, open for what it holds already.

    Wallet locks come before, instance locks after. A host that is off the market still gives its renters access
    to their data.

    Raises:
        NotFound: there is no such offer.
        OfferClosed: the host or its engine is not available.
    """
    host = lock_host_of(offer_id, 0)
    if host is None:
        raise NotFound("This offer doesn't exist.")
    if host.state != HostState.ONLINE:
        raise OfferClosed(f"The instance's host is {host.state}.")
    if host.engine_age_s >= ENGINE_SLOW_AFTER_S:
        raise OfferClosed("The container engine of the instance's host isn't responding.")
    return host
