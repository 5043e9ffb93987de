"""Reachability test: dials a host at its request, at its own address and ports, to read its nonce.

It must not become a way into the operator's network: private addresses are refused unless the operator allows them
(RELAY_REACH_PRIVATE, for development and for a market within one laboratory), each nonce is used once and dials per
host are limited, and of what was received the answer tells only whether it was the nonce.
"""

import asyncio
import hmac
import ipaddress
import socket
import time
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.protocol.port_check import DIAL_PATH, NONCE, UDP, PortCheckTarget, parse_target
from agents.protocol.public_addresses import Address, is_public
from agents.protocol.tickets import BadTicket
from agents.relay.refusal import RelayError
from agents.relay.udp_probe import probe_udp

DIAL_S: Final = 4.0
DIALS: Final = 16  # of one host within WINDOW_S
WINDOW_S: Final = 600.0
AT_ONCE: Final = 16  # of all hosts
HOSTS_KNOWN: Final = 10_000
NONCES_KNOWN: Final = 64  # of each host: far more than it can use while one of its tickets is valid
_HIGHEST_DIGITS: Final = 5


@dataclass
class _DialHistory:
    """Times and nonces of one host's dials; kept per host, so that no other host can push nonces out."""

    moments: list[float] = field(default_factory=list)
    nonces: deque[str] = field(default_factory=lambda: deque(maxlen=NONCES_KNOWN))


class PortChecker:
    """Dials hosts, and limits how often for each of them."""

    def __init__(self, *, private: bool) -> None:
        self._private = private
        self._hosts: OrderedDict[str, _DialHistory] = OrderedDict()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def admit(self, host: str, nonce: str) -> None:
        """Count a dial of the host.

        Raises:
            RelayError: The nonce was used before, or the host asks too often.
        """
        now = time.monotonic()
        history = self._hosts.pop(host, None) or _DialHistory()
        self._hosts[host] = history
        while len(self._hosts) > HOSTS_KNOWN:
            self._hosts.popitem(last=False)
        if nonce in history.nonces:
            raise RelayError(409, "nonce_used", "A nonce is good once.")
        history.moments = [moment for moment in history.moments if moment > now - WINDOW_S]
        if len(history.moments) >= DIALS:
            raise RelayError(429, "too_many_dials", "This host was dialled often enough for now.", {"Retry-After": "60"})
        history.moments.append(now)
        history.nonces.append(nonce)

    async def dial(self, address: str, port: int, nonce: str, *, udp: bool = False) -> str:
        """Connect and compare the nonce, or ask for it by UDP; return "" if it is right, else why it was not reached."""
        async with self._slots:
            try:
                async with asyncio.timeout(DIAL_S):
                    places = await _resolve(address, port)
                    if not places:
                        return "unresolved"
                    if not (self._private or all(is_public(place) for place in places)):
                        return "not_public"
                    return await (probe_udp if udp else _compare_nonce)(str(places[0]), port, nonce)
            except TimeoutError:
                return "timeout"
            except ConnectionRefusedError:
                return "refused"
            except OSError:
                return "unreachable"


async def dial_host(request: Request) -> Response:
    reach = _target_of(request)
    port, nonce = request.query_params.get("port", ""), request.query_params.get("nonce", "")
    if not reach.address:
        return JSONResponse({"reached": request.app.state.hub.is_linked(reach.host), "reason": "", "through": "relay"})
    if not (port.isdecimal() and len(port) <= _HIGHEST_DIGITS and reach.first <= int(port) <= reach.last):
        raise RelayError(403, "not_its_port", "The port is not in the host's own range.")
    if not NONCE.fullmatch(nonce):
        raise RelayError(400, "bad_nonce", "A nonce has 32 hex digits.")
    dialler: PortChecker = request.app.state.dialler
    dialler.admit(reach.host, nonce)
    udp = request.query_params.get("protocol") == UDP
    reason = await dialler.dial(reach.address, int(port), nonce, udp=udp)
    said = {"reached": not reason, "reason": reason, "through": "address"}
    return JSONResponse({**said, "protocol": UDP} if udp else said)


ROUTES: Final = [Route(DIAL_PATH, dial_host)]


def _target_of(request: Request) -> PortCheckTarget:
    try:
        ticket = request.app.state.ticket_checker.read(request.query_params.get("ticket", ""))
    except BadTicket as error:
        raise RelayError(401, "bad_ticket", f"The ticket is {error}.") from error
    reach = parse_target(ticket.topic)
    if reach is None:
        raise RelayError(403, "wrong_topic", "The ticket is for another kind of topic.")
    return reach


async def _resolve(address: str, port: int) -> list[Address]:
    """Resolve the address once, so that the address that was checked is the one that is dialled."""
    try:
        rows = await asyncio.get_running_loop().getaddrinfo(address, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in rows))


async def _compare_nonce(place: str, port: int, nonce: str) -> str:
    reader, writer = await asyncio.open_connection(place, port)
    try:
        received = await reader.readexactly(len(nonce))
        return "" if hmac.compare_digest(received, nonce.encode()) else "someone_else"
    except asyncio.IncompleteReadError:
        return "someone_else"
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
