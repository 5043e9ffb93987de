"""Answers to the relay's challenges by UDP, while the host's UDP ports are checked."""

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from agents.daemon.control_plane.free_ports import first_free
from agents.protocol.port_check import CHALLENGE, NONCE_BYTES, answer_to

_LONGEST: Final = 256
_PAUSE_S: Final = 0.1  # how soon the thread sees that it is to end


@contextmanager
def answering(listen: str, ports: Iterator[int]) -> Iterator[tuple[int, str]]:
    """Answer challenges at one of the ports with a fresh nonce; yield port and nonce.

    Raises:
        OSError: None of the ports could be opened.
    """
    nonce = secrets.token_hex(NONCE_BYTES)
    server = first_free(lambda port: _open_udp(listen, port), ports)
    over = threading.Event()
    thread = threading.Thread(target=_answer, args=(server, nonce, over), name="reach-udp", daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], nonce
    finally:
        over.set()
        thread.join()
        server.close()


def _open_udp(listen: str, port: int) -> socket.socket:
    """Return a bound socket on an IPv4 or IPv6 address; "::" receives on both."""
    server = socket.socket(socket.AF_INET6 if ":" in listen else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if ":" in listen:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, listen != "::")
        server.settimeout(_PAUSE_S)
        server.bind((listen, port))
    except OSError:
        server.close()
        raise
    return server


def _answer(server: socket.socket, nonce: str, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(OSError):  # also after each pause without a datagram
            text, guest = server.recvfrom(_LONGEST)
            if CHALLENGE.fullmatch(text):
                server.sendto(answer_to(text, nonce), guest)
