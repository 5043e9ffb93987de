"""Domain errors of the supply side, each with its stable code."""

from collections.abc import Sequence

from common.errors import DomainError, FieldError


class GpuTaken(DomainError):
    code = "gpu_taken"
    status = 409
    title = "The GPUs were rented by someone else"


class PriceChanged(DomainError):
    code = "price_changed"
    status = 409
    title = "The offer's price or specs have changed"


class OfferClosed(DomainError):
    code = "offer_closed"
    status = 409
    title = "The offer isn't open for new rentals"


class GpuClaimed(DomainError):
    code = "gpu_claimed"
    status = 409
    title = "A GPU belongs to another host"


class JoinTokenRefused(DomainError):
    code = "join_token_refused"
    status = 403
    title = "The join token isn't valid"


class SimulationRefused(DomainError):
    code = "simulation_refused"
    status = 403
    title = "Simulated hosts and GPUs aren't allowed here"


class NoWayIn(DomainError):
    code = "no_way_in"
    status = 403
    title = "Hosts behind NAT aren't supported here"


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
    title = "The host is still reporting"


class SearchSyntaxError(DomainError):
    """Raised for a search line that cannot be parsed.

    `position` is the code point, from 0, where parsing stopped.
    """

    code = "search_syntax"
    title = "Invalid search query"

    def __init__(self, detail: str, *, position: int, hint: str, choices: Sequence[str] = ()) -> None:
        wrong = FieldError("q", self.code, f"{detail} {hint}".strip())
        super().__init__(detail, errors=[wrong], position=position, hint=hint, choices=list(choices))
        self.position = position
        self.hint = hint
        self.choices = tuple(choices)


class TooManySearches(DomainError):
    code = "too_many"
    status = 409
    title = "This account's limit was reached"


class SearchNameTaken(DomainError):
    code = "search_name_taken"
    status = 409
    title = "A saved search with this name already exists"


class HostNotOnline(DomainError):
    code = "host_not_online"
    status = 409
    title = "The host isn't reporting"
