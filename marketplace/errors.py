"""What can be refused on the supply side, each with its stable code."""

from common.errors import DomainError


class GpuTaken(DomainError):
    code = "gpu_taken"
    status = 409
    title = "The GPUs were taken by someone else"


class PriceChanged(DomainError):
    code = "price_changed"
    status = 409
    title = "The offer's price or shape has changed"


class OfferClosed(DomainError):
    code = "offer_closed"
    status = 409
    title = "The offer is not open for new rents"


class GpuClaimed(DomainError):
    code = "gpu_claimed"
    status = 409
    title = "A GPU belongs to another host"


class JoinTokenRefused(DomainError):
    code = "join_token_refused"
    status = 403
    title = "The join token is not valid"


class SimulationRefused(DomainError):
    code = "simulation_refused"
    status = 403
    title = "This market takes no simulated hosts or GPUs"


class NotHostOwner(DomainError):
    code = "not_host_owner"
    status = 403
    title = "Only host owners can do this"


class HostInUse(DomainError):
    code = "host_in_use"
    status = 409
    title = "The host still holds leases"
