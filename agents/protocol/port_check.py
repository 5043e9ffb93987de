"""The test of reachability: an agent opens a port of its own range, and the relay dials it from outside.

1. The agent asks the control plane by a signed `POST /agent/v1/reach`: the answer is `{"url": …, "ticket": …}`. The ticket
   names the host, its range of ports and its address, so that the relay can be sent nowhere else.
2. It listens at a port of that range, gives whoever comes its nonce and hangs up.
3. It asks the relay, `GET url?ticket=…&port=…&nonce=…`: `{"reached": true}`, or false with a `reason`.
"""

import re
from dataclasses import dataclass
from typing import Final

ASK_PATH: Final = "/agent/v1/reach"
DIAL_PATH: Final = "/relay/v1/reach"
NONCE: Final = re.compile(r"[0-9a-f]{32}")
NONCE_BYTES: Final = 16


@dataclass(frozen=True)
class Reach:
    """Where a host says that it is reached: its address and its range of ports, inclusive. No address: behind NAT."""

    host: str
    address: str
    first: int
    last: int

    @property
    def topic(self) -> str:
        return f"reach:{self.host}:{self.first}:{self.last}:{self.address}"


def read_reach(topic: str) -> Reach | None:
    """None for a topic that is another kind's."""
    kind, _, rest = topic.partition(":")
    host, *numbers = rest.split(":", 3)
    if kind != "reach" or len(numbers) != 3 or not (numbers[0].isdecimal() and numbers[1].isdecimal()):  # noqa: PLR2004
        return None
    return Reach(host, numbers[2], int(numbers[0]), int(numbers[1]))
