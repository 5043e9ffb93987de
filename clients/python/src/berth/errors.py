"""Errors of the client: what the API refused, what the network lost, and what took too long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class BerthError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(BerthError):
    """The client was set up wrongly, for example with an address that isn't one."""


class ConnectionFailed(BerthError):
    """The market couldn't be reached, or the connection was lost."""


class RequestTimeout(ConnectionFailed):
    """The market didn't answer in time."""


class DecodeError(BerthError):
    """The answer isn't what the API's document promises."""


class WaitTimeout(BerthError):
    """What was waited for didn't happen in time; it may still happen."""

    def __init__(self, message: str, last: Any = None) -> None:
        super().__init__(message)
        self.last = last


class WaitFailed(BerthError):
    """What was waited for can't happen any more: the instance failed or was released, for example."""

    def __init__(self, message: str, last: Any = None) -> None:
        super().__init__(message)
        self.last = last


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field of a request."""

    field: str
    code: str
    detail: str


@dataclass(frozen=True)
class Problem:
    """A problem document (RFC 9457), or what could be made of another answer."""

    status: int
    code: str
    title: str
    detail: str
    fields: Sequence[FieldError] = ()
    extra: Mapping[str, Any] | None = None
    request_id: str | None = None
    retry_after: float | None = None


class APIError(BerthError):
    """The API refused a request. Programs decide by `code`, which is stable."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def code(self) -> str:
        return self.problem.code

    @property
    def title(self) -> str:
        return self.problem.title

    @property
    def detail(self) -> str:
        return self.problem.detail

    @property
    def fields(self) -> Sequence[FieldError]:
        return self.problem.fields

    @property
    def extra(self) -> Mapping[str, Any]:
        """Return further members of the problem document, such as the new `quote` of `price_changed`."""
        return self.problem.extra or {}

    @property
    def request_id(self) -> str | None:
        return self.problem.request_id

    @property
    def retry_after(self) -> float | None:
        return self.problem.retry_after

    def __str__(self) -> str:
        lines = [f"{self.detail or self.title} ({self.code})"]
        lines += [f"{each.field}: {each.detail}" for each in self.fields if each.detail != self.detail]
        return "\n".join(lines)


class InvalidRequest(APIError):
    """400, 413, 415 or 422: the request can't be used as it is."""


class SearchSyntaxError(InvalidRequest):
    """The query of a search can't be read; `position`, `hint` and `choices` say where and why."""

    @property
    def position(self) -> int:
        return int(self.extra.get("position", 0))

    @property
    def hint(self) -> str:
        return str(self.extra.get("hint") or "")


class NotAuthenticated(APIError):
    """401: there is no token, or it is unknown, revoked or expired."""


class PaymentRequired(APIError):
    """402: the wallet or a budget can't pay for this."""


class InsufficientFunds(PaymentRequired):
    """The wallet has too little spendable money."""


class BudgetExceeded(PaymentRequired):
    """A budget with a hard limit would be exceeded."""


class Forbidden(APIError):
    """403: the token lacks a scope, or this isn't for you."""


class MissingScope(Forbidden):
    """The token lacks the scope that `detail` names."""


class NotFound(APIError):
    """404: there is no such thing, or it isn't yours."""


class Conflict(APIError):
    """409: not possible in the present state."""


class GpuTaken(Conflict):
    """Somebody else was faster: the GPUs aren't free any more."""


class PriceChanged(Conflict):
    """The price is no longer the agreed one."""


class QuoteExpired(Conflict):
    """The quote is too old; `extra["quote"]` is a new one."""


class QuoteUsed(Conflict):
    """The quote has already been ordered."""


class TooManyRequests(APIError):
    """429: wait `retry_after` seconds."""


class ServerError(APIError):
    """5xx: the market can't answer now."""


class Refusals:
    """Which class an error is, by its code, else by its status."""

    by_code: ClassVar[Mapping[str, type[APIError]]] = {
        "search_syntax": SearchSyntaxError,
        "insufficient_funds": InsufficientFunds,
        "debt_unpaid": InsufficientFunds,
        "budget_exceeded": BudgetExceeded,
        "missing_scope": MissingScope,
        "gpu_taken": GpuTaken,
        "gpu_claimed": GpuTaken,
        "price_changed": PriceChanged,
        "quote_expired": QuoteExpired,
        "quote_used": QuoteUsed,
    }
    by_status: ClassVar[Mapping[int, type[APIError]]] = {
        400: InvalidRequest,
        401: NotAuthenticated,
        402: PaymentRequired,
        403: Forbidden,
        404: NotFound,
        409: Conflict,
        413: InvalidRequest,
        415: InvalidRequest,
        422: InvalidRequest,
        429: TooManyRequests,
    }


def refusal(problem: Problem) -> APIError:
    """Return the error of a problem document."""
    found = Refusals.by_code.get(problem.code) or Refusals.by_status.get(problem.status)
    return (found or (ServerError if problem.status >= 500 else APIError))(problem)  # noqa: PLR2004 5xx
