"""Errors of quotes and instances, each with its stable code."""

from common.errors import DomainError, InvalidInput


class QuoteExpired(DomainError):
    code = "quote_expired"
    status = 409
    title = "The quote has expired"


class QuoteUsed(DomainError):
    code = "quote_used"
    status = 409
    title = "The quote has already been used"


class QuoteMismatch(DomainError):
    code = "quote_mismatch"
    status = 409
    title = "The order doesn't match the quote"


class LaunchUnsupported(DomainError):
    """The agent of the host is too old for launch settings, and would start the image without them."""

    code = "launch_unsupported"
    status = 409
    title = "This host doesn't take launch settings yet"


class SecretsErased(InvalidInput):
    code = "secrets_erased"
    title = "The secrets are no longer stored"


class DiskTooLarge(InvalidInput):
    code = "disk_too_large"
    title = "The data disk is too large"


class BidBarred(DomainError):
    """An account may not bid on GPUs whose price it has a say in.

    These are the GPUs of a host owner, for the owner and accounts connected with the owner.
    """

    code = "bid_barred"
    status = 403
    title = "This account can't bid on this offer"


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
    title = "The host can't start more instances without GPU right now"


class NoPorts(DomainError):
    code = "no_ports"
    status = 409
    title = "The host has no free ports"


class UdpUnsupported(DomainError):
    code = "udp_unsupported"
    status = 409
    title = "The host can't publish UDP ports"


class LogUnavailable(DomainError):
    code = "log_unavailable"
    status = 409
    title = "The instance's host isn't reporting right now"


class HostSilent(DomainError):
    code = "host_silent"
    status = 409
    title = "The instance's host isn't reporting right now"


class TooManyCommands(DomainError):
    code = "too_many_commands"
    status = 409
    title = "Too many commands are running in this instance"


class AllowListNotEnforced(DomainError):
    code = "allow_list_not_kept"
    status = 409
    title = "This host can't restrict SSH by address"


class WebLinksOff(DomainError):
    code = "web_links_off"
    status = 409
    title = "Opening instance web pages isn't available here"


class TemplateUnfit(InvalidInput):
    code = "template_unfit"
    status = 409
    title = "The offer doesn't have what the template needs"


class TemplateImageChanged(InvalidInput):
    code = "template_image_changed"
    status = 409
    title = "The template's image has changed since this version was made"


class ImageNeedsCuda(InvalidInput):
    code = "image_needs_cuda"
    title = "The image needs a newer CUDA version than the host supports"
