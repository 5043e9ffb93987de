"""Reachability test: an agent listens on a port of its range, and the relay connects to it.

1. The agent sends a signed `POST /agent/v1/reach` to the control plane. The answer is `{"url": …, "ticket": …}`. The
   ticket names the host, its range of ports and its address, so that the relay can be sent nowhere else.
2. The agent listens on a port of that range, sends its nonce to whoever connects, and closes the connection.
3. The agent requests `GET url?ticket=…&port=…&nonce=…` from the relay. The answer is `{"reached": true}`, or false
   with a `reason`.

For UDP the agent adds `protocol=udp`. The relay sends challenges, and the agent answers each with `answer_to`, as long as
the challenge itself: nobody gets more bytes sent somewhere than it sends. The relay's answer has `"protocol": "udp"`; one of
before, which has tried TCP instead, leaves that out.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

ASK_PATH: Final = "/agent/v1/reach"
DIAL_PATH: Final = "/relay/v1/reach"
NONCE: Final = re.compile(r"[0-9a-f]{32}")
NONCE_BYTES: Final = 16
UDP: Final = "udp"
CHALLENGE: Final = re.compile(rb"[0-9a-f]{64}")
CHALLENGE_BYTES: Final = 32


def answer_to(challenge: bytes, nonce: str) -> bytes:
    """Return the answer to a challenge, which only who knows the nonce can give; in capitals, it is no challenge itself."""
    return hashlib.sha256(nonce.encode() + challenge).hexdigest().upper().encode()


@dataclass(frozen=True)
class PortCheckTarget:
    """Claimed address and port range (inclusive) of a host; the address is empty behind NAT."""

    host: str
    address: str
    first: int
    last: int

    @property
    def topic(self) -> str:
        return f"reach:{self.host}:{self.first}:{self.last}:{self.address}"


def parse_target(topic: str) -> PortCheckTarget | None:
    """Parse the topic of a ticket; return None if it is a topic of another kind."""
    kind, _, rest = topic.partition(":")
    host, *numbers = rest.split(":", 3)
    if kind != "reach" or len(numbers) != 3 or not (numbers[0].isdecimal() and numbers[1].isdecimal()):  # noqa: PLR2004
        return None
    return PortCheckTarget(host, numbers[2], int(numbers[0]), int(numbers[1]))
