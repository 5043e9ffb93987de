"""What can be refused about quotes and instances, each with its stable code."""

from common.errors import DomainError, InvalidInput


class QuoteExpired(DomainError):
    code = "quote_expired"
    status = 409
    title = "The quote has expired"


class QuoteUsed(DomainError):
    code = "quote_used"
    status = 409
    title = "The quote has been used"


class QuoteMismatch(DomainError):
    code = "quote_mismatch"
    status = 409
    title = "The order is not what was quoted"


class ModeNotRentable(DomainError):
    code = "mode_not_rentable"
    status = 409
    title = "This can be compared but not ordered yet"


class DiskTooLarge(InvalidInput):
    code = "disk_too_large"
    title = "The data disk is too large"


class NoPorts(DomainError):
    code = "no_ports"
    status = 409
    title = "The host has no free ports left"
