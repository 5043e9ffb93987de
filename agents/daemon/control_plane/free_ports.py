"""Sockets at the first free one of several ports."""

import socket
from collections.abc import Callable, Iterator


def first_free(open_at: Callable[[int], socket.socket], ports: Iterator[int]) -> socket.socket:
    """Open a socket at the first port that is free.

    Raises:
        OSError: None of the ports could be opened.
    """
    fault = OSError("the range of ports is empty")
    for port in ports:
        try:
            return open_at(port)
        except OSError as error:
            fault = error
    raise fault
