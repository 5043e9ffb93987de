"""Limits of open streams: neither one instance nor connections that nobody has logged in on leave none for the others."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

Door = Literal["ssh", "port"]  # a port of the relay: that of SSH, or another
AT_ONCE: Final = 512
OF_INSTANCE: Final = 128
# Of these, the most that come from ports of the relay, to which anybody may connect; the rest is for signed grants.
FROM_PORTS: Final = 384
# SSH has its own, so that whoever fills another port does not shut its renter out.
FROM_PORTS_OF_INSTANCE: Final[Mapping[Door, int]] = {"ssh": 32, "port": 64}


class TooManyStreams(Exception):
    """There is no place for another stream; the text is for people."""


class OpenStreams:
    """Number of open streams by instance, and of those that come from ports of the relay."""

    def __init__(self) -> None:
        self._all = Counter[str]()
        self._from_ports = Counter[tuple[str, Door]]()

    def of_instance(self, instance: str) -> int:
        return self._all[instance]

    def _check(self, instance: str, door: Door | None) -> None:
        if self._all[instance] >= OF_INSTANCE:
            raise TooManyStreams("Too many connections to this instance are open; close some of them.")
        if self._all.total() >= AT_ONCE:
            raise TooManyStreams("Too many streams are open on this host.")
        if door and self._from_ports[instance, door] >= FROM_PORTS_OF_INSTANCE[door]:
            raise TooManyStreams("Too many connections to the ports of this instance are open.")
        if door and self._from_ports.total() >= FROM_PORTS:
            raise TooManyStreams("Too many connections to ports are open on this host.")

    @contextmanager
    def place(self, instance: str, door: Door | None) -> Iterator[None]:
        """Hold a place for one stream; `door` is None for one with a signed grant.

        Raises:
            TooManyStreams: There is none.
        """
        self._check(instance, door)
        self._all[instance] += 1
        if door:
            self._from_ports[instance, door] += 1
        try:
            yield
        finally:
            self._all[instance] -= 1
            self._all += Counter()  # drops what is zero
            if door:
                self._from_ports[instance, door] -= 1
                self._from_ports += Counter()
