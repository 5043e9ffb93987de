"""Connected agents, and streams to them: the relay asks an agent to connect, it never dials a host."""

import asyncio
import json
import logging
import re
import secrets
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

from agents.relay.stream_endpoints import Channel, WebSocketEnd

logger = logging.getLogger("berth.relay")

DIAL_S: Final = 10.0  # a connected agent dials within milliseconds; one whose link just broke returns within seconds
LINK_POLL_S: Final = 0.1
REVOKED: Final = 4401
LONGEST_DETAIL: Final = 300
HOST_SAYS: Final = "The host says: “"
_QUOTES: Final = str.maketrans({"“": '"', "”": '"'})
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


class DialError(Exception):
    """No stream could be opened; `code` is for programs, `detail` for people."""

    code = "dial_failed"
    detail = "The stream could not be opened."

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or self.detail)
        self.detail = detail or self.detail


class NotLinked(DialError):
    """The host's agent has no link at the moment."""

    code, detail = "host_away", "The host isn't connected right now."


class DialTimeout(DialError):
    """The agent was asked to dial and did not."""

    code, detail = "dial_timeout", "The host did not answer in time."


class DialRefused(DialError):
    """The agent refused to open the stream."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(quoted_detail(detail))
        self.code = checked_code(code)


def checked_code(value: object) -> str:
    """Return an agent's error code if it is well-formed, since it becomes a close reason; else "refused"."""
    return value if isinstance(value, str) and _CODE.fullmatch(value) else "refused"


def quoted_detail(value: object) -> str:
    """Return an agent's text as one printable line in quotation marks, since the agent may be hostile."""
    line = str(value)[:LONGEST_DETAIL].translate(_QUOTES)
    words = "".join(letter if letter.isprintable() else " " for letter in line).strip()
    return f"{HOST_SAYS}{words}”" if words else ""


class AgentLink:
    """One agent's standing connection, over which the relay asks it to dial."""

    def __init__(self, host: str, end: WebSocketEnd, expires_at: float) -> None:
        self.host = host
        self.end = end
        self.expires_at = expires_at

    async def send_json(self, **words: object) -> None:
        await self.end.send(json.dumps(words))


class ConnectionRegistry:
    """Links by host, and the streams that were requested and have not arrived yet."""

    def __init__(self) -> None:
        self._links: dict[str, AgentLink] = {}
        self._awaited: dict[str, tuple[str, asyncio.Future[WebSocketEnd]]] = {}
        self._open: defaultdict[str, WeakSet[WebSocketEnd]] = defaultdict(WeakSet)

    def __len__(self) -> int:
        return len(self._links)

    def is_linked(self, host: str) -> bool:
        return host in self._links

    async def attach(self, link: AgentLink) -> None:
        """Register an agent's link and close an earlier one of the same host, since the agent has reconnected."""
        before = self._links.get(link.host)
        self._links[link.host] = link
        if before is not None:
            await before.end.close(4409, "replaced by a newer link")

    def detach(self, link: AgentLink) -> None:
        if self._links.get(link.host) is link:
            del self._links[link.host]

    async def close(self) -> None:
        """Close all links, since the program is about to end."""
        for link in list(self._links.values()):
            await link.end.close(1001, "the relay restarts")

    def track(self, host: str, end: WebSocketEnd) -> None:
        """Record that this connection belongs to the host's agent, for as long as it is open."""
        self._open[host].add(end)

    async def cut(self, host: str) -> None:
        """Close everything that the host's agent holds open here at once: its link, its streams, its copies."""
        link = self._links.pop(host, None)
        ends = [*([link.end] if link else []), *self._open.pop(host, ())]
        await asyncio.gather(*(end.close(REVOKED, "revoked") for end in ends), return_exceptions=True)

    async def dial(self, *, host: str, grant: str, timeout_s: float = DIAL_S) -> Channel:
        """Open a TCP stream to the port that the grant names.

        Raises:
            DialError: The agent is not connected, does not answer or refuses.
        """
        return Channel(await self.open(host, {"grant": grant}, timeout_s))

    async def open(self, host: str, what: Mapping[str, Any], timeout_s: float = DIAL_S) -> WebSocketEnd:
        """Have the host's agent dial, and return its end of the stream, which the caller has to close.

        Raises:
            DialError: The agent is not connected, does not answer or refuses.
        """
        deadline = time.monotonic() + timeout_s
        link = await self._link_of(host, deadline)
        stream = secrets.token_urlsafe(24)
        arrival: asyncio.Future[WebSocketEnd] = asyncio.get_running_loop().create_future()
        self._awaited[stream] = (host, arrival)
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await link.send_json(dial=stream, **what)
                end = await arrival
            self.track(host, end)
            return end
        except TimeoutError as error:
            raise DialTimeout from error
        except ConnectionError as error:
            raise NotLinked from error
        finally:
            self._awaited.pop(stream, None)

    def arrive(self, stream: str, end: WebSocketEnd) -> bool:
        """Hand over an agent's new connection; return whether a request still waits for it.

        The stream's name is a secret that only the requester and the agent know.
        """
        _, arrival = self._awaited.get(stream, ("", None))
        if arrival is None or arrival.done():
            return False
        arrival.set_result(end)
        return True

    def refuse(self, host: str, stream: str, code: str, detail: str) -> None:
        owner, arrival = self._awaited.get(stream, ("", None))
        if arrival is not None and owner == host and not arrival.done():
            arrival.set_exception(DialRefused(code, detail))

    async def _link_of(self, host: str, deadline: float) -> AgentLink:
        """Return the host's link, after a short wait if there is none: an agent whose link broke returns soon."""
        while host not in self._links:
            if time.monotonic() > deadline:
                raise NotLinked
            await asyncio.sleep(LINK_POLL_S)
        return self._links[host]


class PeerRendezvous:
    """Meeting point of two agents of a copy; each brings its side's ticket, in any order."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], tuple[WebSocketEnd, asyncio.Future[WebSocketEnd]]] = {}
        self._active: dict[tuple[str, str], WebSocketEnd] = {}

    async def meet(self, pair: str, side: str, end: WebSocketEnd, timeout_s: float) -> WebSocketEnd | None:
        """Return the other side's connection to the second to come, None to the first once both have come.

        A newer connection of a side closes its older one, and with it the copy that it was part of.

        Raises:
            TimeoutError: The other side did not come.
            ConnectionError: A newer connection of the same side came.
        """
        own, other = (pair, side), (pair, "target" if side == "source" else "source")
        await self._replace(own)
        self._active[own] = end
        if other in self._waiting:
            partner, arrival = self._waiting.pop(other)
            if not partner.over.is_set():
                arrival.set_result(end)
                return partner
        arrival = asyncio.get_running_loop().create_future()
        self._waiting[own] = (end, arrival)
        try:
            await asyncio.wait_for(arrival, timeout_s)
        finally:
            if self._waiting.get(own, (None, None))[0] is end:
                del self._waiting[own]
        return None

    def release(self, pair: str, side: str, end: WebSocketEnd) -> None:
        if self._active.get((pair, side)) is end:
            del self._active[(pair, side)]

    async def _replace(self, own: tuple[str, str]) -> None:
        before = self._active.pop(own, None)
        _, arrival = self._waiting.pop(own, (None, None))
        if arrival is not None and not arrival.done():
            arrival.set_exception(ConnectionError("replaced by a newer connection"))
        if before is not None:
            with suppress(ConnectionError):
                await before.close(4409, "replaced by a newer connection")
