"""Who may come in: tickets that the web signed, unless what they were asked for with has ended since.

A ticket for a person is bound to names: the version of their account, and the session or API token that asked for it.
The control plane tells which names have ended (a sorted set and a channel in Redis, and a sweep that tells all of them
again), so a ticket outlives neither a password change nor a revocation, and what was opened with it is cut.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

from agents.protocol.tickets import BadTicket, StreamTicket, Ticket, read_stream_ticket, read_ticket

ENDED: Final = "ended"  # the set and the channel, as common.revocation writes them
# For so long what is known may be old: without Redis nobody can say that a ticket has not been revoked.
BLIND_S: Final = 60.0


class Gate:
    """Reads tickets. Until it has been told what has ended, and long after Redis was lost, it takes none that is bound."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._ended: dict[str, int] = {}
        self._good_until = 0.0  # of what is known, by the monotonic clock
        self._inside: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def read(self, text: str) -> Ticket:
        """Raises BadTicket, also for one whose credential has ended."""
        ticket = read_ticket(self._secret, text, now=time.time())
        self.check(ticket.bonds)
        return ticket

    def read_stream(self, text: str) -> StreamTicket:
        ticket = read_stream_ticket(self._secret, text, now=time.time())
        self.check(ticket.bonds)
        return ticket

    def check(self, bonds: Iterable[str]) -> None:
        """Asked again by whoever has waited meanwhile. Raises BadTicket."""
        for name in bonds:
            if name in self._ended:
                raise BadTicket("revoked")
            if time.monotonic() > self._good_until:
                raise BadTicket("not to be proven at the moment")

    async def carry(
        self, bonds: Iterable[str], work: Coroutine[Any, Any, None], *, on_cut: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Do the work for as long as none of these has ended; `on_cut` says goodbye before it is cut."""
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

    def learn_all(self, ended: Mapping[str, int]) -> None:
        """All that Redis knows. What was learnt before stays: Redis may have lost it."""
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
        """Redis cannot be heard any more."""
        self._good_until = min(self._good_until, time.monotonic() + BLIND_S)

    def _forget(self, name: str, cut: "asyncio.Future[None]") -> None:
        self._inside[name].discard(cut)
        if not self._inside[name]:
            del self._inside[name]
