"""Errors of quotes and instances, each with its stable code."""

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


class DiskTooLarge(InvalidInput):
    code = "disk_too_large"
    title = "The data disk is too large"


class BidBarred(DomainError):
    """An account may not bid on GPUs whose price it has a say in.

    These are the GPUs of a host owner, for the owner and accounts connected with the owner.
    """

    code = "bid_barred"
    status = 403
    title = "This account cannot bid on this offer"


class Locked(DomainError):
    code = "locked"
    status = 409
    title = "The instance is locked"


class NotRunning(DomainError):
    code = "not_running"
    status = 409
    title = "The instance is not running"


class NoCpuRoom(DomainError):
    code = "no_cpu_room"
    status = 409
    title = "The host takes no more starts without a GPU at the moment"


class NoPorts(DomainError):
    code = "no_ports"
    status = 409
    title = "The host has no free ports left"


class LogUnavailable(DomainError):
    code = "log_unavailable"
    status = 409
    title = "The instance's host does not report right now"


class AllowListNotEnforced(DomainError):
    code = "allow_list_not_kept"
    status = 409
    title = "This host cannot keep a list of addresses for SSH"


class WebLinksOff(DomainError):
    code = "web_links_off"
    status = 409
    title = "This market opens no web pages of instances"


class ImageNeedsCuda(InvalidInput):
    code = "image_needs_cuda"
    title = "The image needs a newer CUDA than the host has"
