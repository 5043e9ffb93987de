"""Errors that a person or script can act on: a stable code, an HTTP status, and what to do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FieldError:
    """One wrong field of a request."""

    field: str
    code: str
    detail: str


class DomainError(Exception):
    """Base of every error that reaches the user as a problem document (RFC 9457)."""

    code = "error"
    status = 400
    title = "The request can't be processed"

    def __init__(self, detail: str = "", *, errors: Sequence[FieldError] = (), **extra: object) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.errors = list(errors)
        self.extra = extra


class InvalidInput(DomainError):
    code = "invalid_input"
    status = 400
    title = "The input is not valid"


class NotFound(DomainError):
    code = "not_found"
    status = 404
    title = "Not found"


class Forbidden(DomainError):
    code = "forbidden"
    status = 403
    title = "Not allowed"


class IllegalTransition(DomainError):
    code = "unlawful_action"
    status = 409
    title = "This action is not possible in the current state"


class StaleRow(DomainError):
    """Raised when another writer changed the row first: read it again, or drop the work."""

    code = "stale"
    status = 409
    title = "The object was changed by another request"


class Busy(DomainError):
    code = "busy"
    status = 503
    title = "The service is busy; try again shortly"


class TooOften(DomainError):
    """Raised for an action repeated too soon; `wait` (seconds) becomes the response's Retry-After."""

    code = "too_often"
    status = 429
    title = "Too many requests; wait before you try again"

    def __init__(self, detail: str = "", *, wait: float) -> None:
        super().__init__(detail, retry_after=max(1, math.ceil(wait)))
        self.wait = wait


def wrong_field(field: str, detail: str) -> InvalidInput:
    """Return the error about one wrong field; `detail` says why and what would be right."""
    return InvalidInput(detail, errors=[FieldError(field, "invalid", detail)])
