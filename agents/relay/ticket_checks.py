"""Verification of tickets, including whether the credential or the agent's key has been revoked since.

A user's ticket is bound to names: the version of the account, and the session or API token that requested it. The
control plane publishes which names have ended (a sorted set and a channel in Redis, and a sweep that publishes all
of them again). So no ticket outlives a password change or a revocation, and what was opened with it is closed.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

from agents.protocol.tickets import BadTicket, StreamTicket, Ticket, read_stream_ticket, read_ticket

ENDED: Final = "ended"  # key of the set and name of the channel, as common.revocation writes them
ENDED_PREFIX: Final = "ended:"  # of the keys and channels for hosts, as common.change_counters writes them
TICKET_LIFETIME_S: Final = 600  # of an agent's tickets for waiting, its link and its ports: see agents.gateway.constants
# How long the known revocations may be out of date: without Redis nobody can say that a ticket has not been revoked.
BLIND_S: Final = 60.0


class TicketChecker:
    """Reads tickets and knows which credentials have ended.

    Until it has learnt them, and some time after Redis was lost, it refuses all tickets that are bound to a
    credential.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._ended: dict[str, int] = {}
        self._good_until = 0.0  # until when the known revocations count as complete, by the monotonic clock
        self._inside: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def read(self, text: str) -> Ticket:
        """Verify and decode a ticket.

        Raises:
            BadTicket: It is malformed, forged or expired, or its credential was revoked.
        """
        ticket = read_ticket(self._secret, text, now=time.time())
        self.check(ticket.bonds)
        return ticket

    def read_stream(self, text: str) -> StreamTicket:
        ticket = read_stream_ticket(self._secret, text, now=time.time())
        self.check(ticket.bonds)
        return ticket

    def check(self, bonds: Iterable[str]) -> None:
        """Check that none of these credentials was revoked; to be repeated after each wait.

        Raises:
            BadTicket: One was revoked, or this cannot be known at the moment.
        """
        for name in bonds:
            if name in self._ended:
                raise BadTicket("revoked")
            if time.monotonic() > self._good_until:
                raise BadTicket("not to be proven at the moment")

    async def run_until_revoked(
        self, bonds: Iterable[str], work: Coroutine[Any, Any, None], *, on_cut: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Run `work` until it ends or one of these credentials is revoked; then call `on_cut` and cancel it."""
        names, cut = tuple(bonds), asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(work)
        for name in names:
            self._inside[name].add(cut)
        try:
            if not any(name in self._ended for name in names):
                await asyncio.wait({task, cut}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            elif on_cut is not None:
                await on_cut()
        finally:
            for name in names:
                self._forget(name, cut)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def add_revocations(self, ended: Mapping[str, int]) -> None:
        """Add all revocations that Redis holds; earlier ones stay, since Redis may have lost them."""
        self._good_until = float("inf")
        now = time.time()
        self._ended = {name: until for name, until in self._ended.items() if until > now}
        for name, until in ended.items():
            self.learn(name, until)

    def learn(self, name: str, until: int) -> None:
        self._ended[name] = until
        for cut in self._inside.get(name, ()):
            if not cut.done():
                cut.set_result(None)

    def lose(self) -> None:
        """Note that Redis cannot be reached any more."""
        self._good_until = min(self._good_until, time.monotonic() + BLIND_S)

    def _forget(self, name: str, cut: "asyncio.Future[None]") -> None:
        self._inside[name].discard(cut)
        if not self._inside[name]:
            del self._inside[name]


class RevokedHosts:
    """For each host, when its agent's key was revoked, and whether it has been given a new key."""

    def __init__(self) -> None:
        self._at: dict[str, tuple[int, bool]] = {}

    def record(self, topic: str, words: str) -> str:
        """Record a revocation and return the host whose connections must be closed now.

        It is "" for a malformed message, and for a host that goes on under a new key.
        """
        moment, _, over = words.partition(" ")
        host = topic.removeprefix("host:")
        if not moment.isdecimal() or host == topic:
            return ""
        self._at[host] = int(moment), over == "1"
        return "" if over == "1" else host

    def voids(self, ticket: Ticket) -> bool:
        """Return whether the ticket was given to an agent that has been revoked since."""
        kind, _, rest = ticket.topic.partition(":")
        words = rest.split(":")
        if kind == "pair":  # valid for hours, so it counts again once the host has a new key
            return len(words) > 1 and not self._at.get(words[1], (0, True))[1]
        host = words[-1]
        return host in self._at and ticket.expires_at <= self._at[host][0] + TICKET_LIFETIME_S
