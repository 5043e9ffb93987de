"""Hosts whose agent's key was revoked: earlier tickets are void, and open connections are closed."""

from typing import Final

from agents.protocol.tickets import Ticket

PREFIX: Final = "ended:"
TICKET_LIFETIME_S: Final = 600  # of an agent's tickets for waiting, its link and its ports: see agents.gateway.constants


class Ended:
    """For each host, when its agent's key was revoked, and whether it has been given a new key."""

    def __init__(self) -> None:
        self._at: dict[str, tuple[int, bool]] = {}

    def note(self, topic: str, words: str) -> str:
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
