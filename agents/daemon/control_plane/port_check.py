"""Check of the host's ports, TCP and UDP: it listens at both ends of its range, and the relay connects to it."""

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from urllib3.exceptions import HTTPError

from agents.daemon.control_plane.free_ports import first_free
from agents.daemon.control_plane.http_client import Link, LinkError, check_answer
from agents.daemon.control_plane.tls import Client
from agents.daemon.control_plane.udp_answers import answering
from agents.daemon.lib.config import AgentConfig
from agents.protocol.codec import parse_json_object
from agents.protocol.messages import Check
from agents.protocol.port_check import ASK_PATH, NONCE_BYTES, UDP

PORTS: Final = "ports"
UDP_PORTS: Final = "udp_ports"
SILENCE_S: Final = 10.0
_TRIED: Final = 20  # ports tried from either end until one is free
_WHY: Final = {
    "timeout": "no answer: a firewall drops it, or the router does not forward it",
    "refused": "refused: something on the way turns it away",
    "unreachable": "no way leads there",
    "unresolved": "the name cannot be found",
    "not_public": "it is an address of a private network",
    "someone_else": "another machine answers there",
}


@dataclass(frozen=True)
class PortCheck:
    """Self-test of the ports of one host."""

    config: AgentConfig
    link: Link

    def checks(self) -> Iterator[Check]:
        """Yield a finding for TCP and one for UDP; none for what the market does not test yet, or no renter can use."""
        with closing(Client(SILENCE_S)) as client:
            try:
                ticket = _request_ticket(self.link, client)
            except LinkError as error:
                if error.unknown:
                    return
                yield Check(id=PORTS, reason="refused" if error.retry_after_s else "failed", actual=str(error))
                return
            if self.config.behind_nat:
                yield self._behind_nat(client, ticket)
                return
            yield self._check_range(client, ticket)
            yield from self._check_udp(client, ticket)

    def _behind_nat(self, client: Client, ticket: dict[str, str]) -> Check:
        answer = _dial(client, ticket, port=0, nonce="")
        return Check(
            id=PORTS,
            passed=bool(answer.get("reached")),
            actual="renters come through the relay" if answer.get("reached") else "the agent's link to the relay is down",
            required="a link to the relay",
        )

    def _check_range(self, client: Client, ticket: dict[str, str]) -> Check:
        config = self.config
        required = f"TCP {config.port_first}-{config.port_last} open at {config.address}"
        for ports in _candidate_ports(config.port_first, config.port_last):
            try:
                with listening(config.listen, ports) as (port, nonce):
                    answer = _dial(client, ticket, port=port, nonce=nonce)
            except OSError as error:
                return Check(id=PORTS, reason="failed", actual=f"no port could be opened: {error}", required=required)
            if "reached" not in answer:  # too many dials, or the relay is away: that says nothing of the host
                return Check(id=PORTS, reason="failed", actual="the relay did not try the ports", required=required)
            if not answer["reached"]:
                why = _WHY.get(str(answer.get("reason")), "the relay could not tell")
                return Check(id=PORTS, passed=False, actual=f"TCP {port} at {config.address}: {why}", required=required)
        return Check(id=PORTS, passed=True, actual=f"reached from outside at {config.address}", required=required)

    def _check_udp(self, client: Client, ticket: dict[str, str]) -> Iterator[Check]:
        """Yield the finding for UDP; none where the relay is of before, or doesn't answer."""
        config = self.config
        required = f"UDP {config.port_first}-{config.port_last} open at {config.address}"
        for ports in _candidate_ports(config.port_first, config.port_last):
            try:
                with answering(config.listen, ports) as (port, nonce):
                    answer = _dial(client, ticket, port=port, nonce=nonce, protocol=UDP)
            except OSError as error:
                yield Check(id=UDP_PORTS, reason="failed", actual=f"no port could be opened: {error}", required=required)
                return
            if answer.get("protocol") != UDP:
                return
            if not answer.get("reached"):
                why = _WHY.get(str(answer.get("reason")), "the relay could not tell")
                yield Check(id=UDP_PORTS, passed=False, actual=f"UDP {port} at {config.address}: {why}", required=required)
                return
        yield Check(id=UDP_PORTS, passed=True, actual=f"reached from outside at {config.address}", required=required)


@contextmanager
def listening(listen: str, ports: Iterator[int]) -> Iterator[tuple[int, str]]:
    """Listen on one of the ports and send a fresh nonce to whoever connects; yield port and nonce.

    Raises:
        OSError: None of the ports could be opened.
    """
    nonce = secrets.token_hex(NONCE_BYTES)
    server = first_free(lambda port: open_server(listen, port), ports)
    thread = threading.Thread(target=_send_nonce, args=(server, nonce.encode()), name="reach", daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], nonce
    finally:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)  # ends the accept that the thread waits in
        server.close()
        thread.join()


def open_server(listen: str, port: int, *, backlog: int = 8) -> socket.socket:
    """Return a listening socket on an IPv4 or IPv6 address; "::" listens on both."""
    if ":" not in listen:
        return socket.create_server((listen, port), backlog=backlog)
    both = listen == "::"
    return socket.create_server((listen, port), family=socket.AF_INET6, backlog=backlog, dualstack_ipv6=both)


def _send_nonce(server: socket.socket, nonce: bytes) -> None:
    with suppress(OSError):
        while True:
            guest, _ = server.accept()
            with guest, suppress(OSError):
                guest.sendall(nonce)


def _candidate_ports(first: int, last: int) -> list[Iterator[int]]:
    up = iter(range(first, min(last, first + _TRIED) + 1))
    return [up] if first == last else [up, iter(range(last, max(first, last - _TRIED) - 1, -1))]


def _request_ticket(link: Link, client: Client) -> dict[str, str]:
    return _answer(client, "POST", link.address(ASK_PATH), ASK_PATH, headers=link.signature("POST", ASK_PATH, b""))


def _dial(client: Client, ticket: dict[str, str], *, port: int, nonce: str, protocol: str = "") -> dict[str, object]:
    query = urlencode({"ticket": ticket.get("ticket", ""), "port": port, "nonce": nonce, "protocol": protocol})
    try:
        return dict(_answer(client, "GET", f"{ticket.get('url', '')}?{query}", "the relay's dial"))
    except LinkError:
        return {}


def _answer(client: Client, method: str, url: str, named: str, headers: dict[str, str] | None = None) -> dict[str, str]:
    try:
        answer = client.request(method, url, body=b"" if method == "POST" else None, headers=headers)
    except HTTPError as error:
        raise LinkError(f"{named}: {error or type(error).__name__}") from error
    if answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        raise LinkError(f"{named}: this market cannot dial yet", unknown=True)
    check_answer(named, answer)
    return parse_json_object(answer.data.decode(errors="replace"))
