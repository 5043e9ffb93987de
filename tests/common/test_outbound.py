"""Addresses that users name: what is refused before anything is sent, and what a hostile receiver cannot do."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from agents.protocol.public_addresses import is_public
from common.http.outbound import OutboundFault, is_allowed, parse_target, resolve, send_request

# Fault 98: loopback, link-local and cloud metadata, private, carrier-grade, multicast, tunnels into IPv4.
NOT_PUBLIC = """
127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 169.254.169.254 169.254.170.2
100.64.0.1 100.127.255.255 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 192.88.99.1 224.0.0.1 239.255.255.255
240.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1
fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1:: 3fff::1 100::1 5f00::1
"""
SPELLINGS = """
http://127.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://017700000001/ http://127.0.0.1:8000/ http://[::1]/
http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://localhost/ http://LOCALHOST/ http://localhost./ https://127.0.0.1./
https://0/ https://[::]/ https://169.254.169.254/latest/meta-data/ https://[fd00:ec2::254]/ https://[fe80::1%25lo]/
"""
NO_ADDRESSES = [
    *["", "x", "//example.com", "ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "http://"],
    *[
        "https://",
        "https://user@example.com/",
        "https://a:b@example.com/",
        "https://example.com:22/",
        "https://example.com:6379x",
    ],
    *[
        "https://example.com\\@127.0.0.1/",
        "https://exa mple.com/",
        "https://example.com/\r\nX: y",
        "https://ex\u0430mple.com/",
    ],
    *[
        "https://example.com:99999/",
        "https://[::1/",
        "https://example.com/\x00",
        "https://" + "a" * 600,
        "https://example.com:25/",
    ],
]


@pytest.mark.parametrize("text", NOT_PUBLIC.split())
def test_what_is_not_public(text: str) -> None:
    """To the market and to agents, neither of which knows the other's code: they have to agree."""
    assert not is_allowed(ip_address(text))
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "192.0.1.1", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"])
def test_what_is_public(text: str) -> None:
    assert is_allowed(ip_address(text))
    assert is_public(ip_address(text))


@pytest.mark.parametrize("url", [*SPELLINGS.split(), *NO_ADDRESSES])
def test_no_spelling_reaches_this_machine(url: str) -> None:
    with pytest.raises(OutboundFault) as refused:
        send_request("POST", url, headers={}, body=b"", timeout_s=1, most_bytes=10)
    assert refused.value.code in {"bad_address", "bad_port", "not_public", "unresolved"}


def test_a_name_that_leads_to_one_private_address_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("8.8.8.8", "10.0.0.7")]
    monkeypatch.setattr("common.http.outbound.socket.getaddrinfo", lambda *_args, **_options: rows)
    with pytest.raises(OutboundFault, match=r"10\.0\.0\.7"):
        resolve(parse_target("https://rebinding.example/"))


def test_plain_http_is_for_opened_networks_alone(settings: Any) -> None:
    with pytest.raises(OutboundFault, match="https"):
        resolve(parse_target("http://8.8.8.8/"))
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    assert resolve(parse_target("http://127.0.0.1:8080/")) == [ip_address("127.0.0.1")]
    with pytest.raises(OutboundFault):
        resolve(parse_target("http://10.0.0.1/"))


def test_the_name_is_asked_once_and_what_it_said_then_is_reached(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Rebinding: the second answer of a name server would lead elsewhere; there is no second question."""
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    requests: list[str] = []
    real = socket.getaddrinfo

    def answer(host: str, *args: Any, **options: Any) -> object:
        requests.append(host)
        named = host == "rebinding.example"
        return real("127.0.0.1" if named and requests.count(host) == 1 else "127.0.0.9" if named else host, *args, **options)

    monkeypatch.setattr("common.http.outbound.socket.getaddrinfo", answer)
    with receiver(lambda peer: peer.sendall(b"HTTP/1.1 204 No Content\r\nX-Is: it\r\n\r\n")) as (port, heard):
        reply = send_request(
            "POST", f"http://rebinding.example:{port}/a?b=c", headers={"X-A": "b"}, body=b"hi", timeout_s=5, most_bytes=9
        )
    assert (reply.status, reply.headers["x-is"]) == (204, "it")
    assert requests.count("rebinding.example") == 1
    assert heard[0].startswith(b"POST /a?b=c HTTP/1.1\r\n")
    assert f"Host: rebinding.example:{port}".encode() in heard[0]


def test_redirects_are_not_followed_and_long_answers_not_read(settings: Any) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    head = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 1000000\r\n\r\n"
    with receiver(lambda peer: peer.sendall(head + b"x" * 5000)) as (port, heard):
        reply = send_request("POST", f"http://127.0.0.1:{port}/", headers={}, body=b"", timeout_s=5, most_bytes=100)
    assert (reply.status, len(reply.body), len(heard)) == (302, 100, 1)


def test_a_receiver_that_drips_is_cut(settings: Any) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    begun = time.monotonic()
    with receiver(_drip) as (port, _heard), pytest.raises(OutboundFault) as cut:
        send_request("POST", f"http://127.0.0.1:{port}/", headers={}, body=b"", timeout_s=0.5, most_bytes=100)
    assert cut.value.code == "timeout"
    assert time.monotonic() - begun < 3


def test_a_receiver_that_drips_after_a_slow_connection_is_cut(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name's first address does not answer until the time is over, and the next one drips: that must end as well."""
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    real, begun = socket.create_connection, time.monotonic()

    def slow(*args: Any, **options: Any) -> socket.socket:
        time.sleep(0.6)
        return real(*args, **options)

    with receiver(_drip) as (port, _heard), pytest.raises(OutboundFault) as cut:
        monkeypatch.setattr("common.http.outbound.socket.create_connection", slow)
        send_request("POST", f"http://127.0.0.1:{port}/", headers={}, body=b"", timeout_s=0.5, most_bytes=100)
    assert cut.value.code == "timeout"
    assert time.monotonic() - begun < 2


def test_faults_have_names(settings: Any) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with receiver(lambda peer: peer.sendall(b"SSH-2.0-OpenSSH\r\n")) as (port, _heard):
        assert _code(f"http://127.0.0.1:{port}/") == "broken"
        assert _code(f"https://127.0.0.1:{port}/") == "tls"
    assert _code(f"http://127.0.0.1:{port}/") == "refused"


def _code(url: str) -> str:
    with pytest.raises(OutboundFault) as fault:
        send_request("GET", url, headers={}, timeout_s=5, most_bytes=10)
    return fault.value.code


def _drip(peer: socket.socket) -> None:
    for _ in range(60):
        try:
            peer.sendall(b"H")
        except OSError:
            return
        time.sleep(0.05)


@contextmanager
def receiver(reply: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[bytes]]]:
    """Something that listens on this machine; answers everyone with `reply`."""
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                heard.append(peer.recv(65_536))
                reply(peer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=5)
