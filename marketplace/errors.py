"""Domain errors of the supply side, each with its stable code."""

from collections.abc import Sequence

from common.errors import DomainError, FieldError


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


class NoWayIn(DomainError):
    code = "no_way_in"
    status = 403
    title = "This market takes no hosts behind NAT"


class NotHostOwner(DomainError):
    code = "not_host_owner"
    status = 403
    title = "Only host owners can do this"


class HostInUse(DomainError):
    code = "host_in_use"
    status = 409
    title = "The host still holds leases"


class HostStillReports(DomainError):
    code = "host_still_reports"
    status = 409
    title = "The host is not dead"


class SearchSyntaxError(DomainError):
    """Raised for a search line that cannot be parsed.

    `position` is the code point, from 0, where parsing stopped.
    """

    code = "search_syntax"
    title = "The search line cannot be read"

    def __init__(self, detail: str, *, position: int, hint: str, choices: Sequence[str] = ()) -> None:
        wrong = FieldError("q", self.code, f"{detail} {hint}".strip())
        super().__init__(detail, errors=[wrong], position=position, hint=hint, choices=list(choices))
        self.position = position
        self.hint = hint
        self.choices = tuple(choices)


class TooManySearches(DomainError):
    code = "too_many"
    status = 409
    title = "The limit of this account is reached"


class SearchNameTaken(DomainError):
    code = "search_name_taken"
    status = 409
    title = "A saved search has this name already"


class HostNotOnline(DomainError):
    code = "host_not_online"
    status = 409
    title = "The host does not report now"
