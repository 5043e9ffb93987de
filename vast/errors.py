"""Errors of the API of Vast, with the codes that its clients know."""

from common.errors import DomainError, InvalidInput, NotFound


class InvalidArgs(InvalidInput):
    code = "invalid_args"
    title = "The request is not valid"


class InvalidPrice(InvalidInput):
    code = "invalid_price"
    title = "The price is not valid"


class NoSuchAsk(NotFound):
    code = "no_such_ask"
    title = "There is no such offer"


class AskGone(DomainError):
    """Raised where an ask can't be rented as it was found; the client has to search again."""

    code = "no_such_ask"
    status = 410
    title = "The offer is no longer available"


class NoSuchInstance(NotFound):
    code = "no_such_instance"
    title = "There is no such instance"


class NotSupported(DomainError):
    """Raised for what Vast has and this market has not, or has under another verb."""

    code = "not_implemented"
    status = 501
    title = "This market doesn't support this part of the Vast API"
