"""Parsing of agents' requests: the body, the claimed identity and the sender's address."""

import re
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from agents.gateway.constants import MAX_BODY_BYTES
from agents.gateway.errors import TooLarge, Unsigned
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER, Envelope
from common.printable import cut_printable

_HOST = re.compile(r"[0-9a-f]{32}")
_BOOT = re.compile(r"[0-9A-Za-z_-]{1,40}")
_SEQUENCE = re.compile(r"[1-9][0-9]{0,17}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_CLAIM_SHOWN = 80
_ADDRESS_SHOWN = 64


@dataclass(frozen=True)
class SignedMessage:
    """Message with its envelope and signature, which are not verified yet."""

    envelope: Envelope
    signature: bytes
    signed: bytes
    body: bytes


def read_body(request: HttpRequest, *, at_most: int = MAX_BODY_BYTES) -> bytes:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > at_most:
        raise TooLarge(f"At most {at_most} bytes.")
    # Read as a stream: Django's limit for bodies in memory is lower than the size of a speed test, and ours was checked
    # above.
    return request.read()


def read_signed(request: HttpRequest, *, at_most: int = MAX_BODY_BYTES) -> SignedMessage:
    body = read_body(request, at_most=at_most)
    host_id = _header(request, HOST_HEADER, _HOST)
    boot_id = _header(request, BOOT_HEADER, _BOOT)
    envelope = Envelope(host_id, boot_id, int(_header(request, SEQUENCE_HEADER, _SEQUENCE)))
    signature = bytes.fromhex(_header(request, SIGNATURE_HEADER, _SIGNATURE))
    signed = envelope.signing_input(request.method or "", request.path, body)
    return SignedMessage(envelope, signature, signed, body)


def claimed_host(request: HttpRequest) -> str:
    """Return which host the message claims to be from, for the audit, as printable text of limited length."""
    return cut_printable(request.headers.get(HOST_HEADER, ""), _CLAIM_SHOWN)


def remote_address(request: HttpRequest) -> str:
    """Return the sender's address as the outermost of our own proxies saw it."""
    hops = request.headers.get("X-Forwarded-For", "").split(",")
    trusted = settings.TRUSTED_PROXIES
    if trusted and len(hops) >= trusted and hops[-trusted].strip():
        return cut_printable(hops[-trusted], _ADDRESS_SHOWN)
    return str(request.META.get("REMOTE_ADDR", ""))


def _header(request: HttpRequest, name: str, shape: re.Pattern[str]) -> str:
    value = request.headers.get(name, "")
    if not shape.fullmatch(value):
        raise Unsigned(f"The header {name} is {'malformed' if value else 'missing'}.")
    return value
