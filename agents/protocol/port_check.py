"""Reachability test: an agent listens on a port of its range, and the relay connects to it.

1. The agent sends a signed `POST /agent/v1/reach` to the control plane. The answer is `{"url": …, "ticket": …}`.
The ticket
   names the host, its range of ports and its address, so that the relay can be sent nowhere else.
2. The agent listens on a port of that range, sends its nonce to whoever connects, and closes the connection. 3. The
agent requests `GET url?ticket=…&port=…&nonce=…` from the relay. The answer is `{"reached": true}`, or false with
   a `reason`.
"""

import re
from dataclasses import dataclass
from typing import Final

ASK_PATH: Final = "/agent/v1/reach"
DIAL_PATH: Final = "/relay/v1/reach"
NONCE: Final = re.compile(r"[0-9a-f]{32}")
NONCE_BYTES: Final = 16


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
