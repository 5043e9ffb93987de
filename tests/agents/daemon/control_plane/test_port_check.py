"""The check of the ports as an agent makes it: against a market that dials, one that cannot, and one that refuses."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.daemon.control_plane.http_client import Link
from agents.daemon.control_plane.port_check import PortCheck
from agents.daemon.lib.config import AgentConfig
from agents.protocol.messages import Check
from agents.protocol.signing import SIGNATURE_HEADER


@dataclass
class FakeMarket:
    """Gives leave, and says of a dial what the test wants it to say."""

    says: dict[str, object] = field(default_factory=lambda: {"reached": True, "reason": ""})
    says_of_udp: dict[str, object] | None = None  # None: a relay of before, which dials by TCP whatever it is asked
    leave: int = 200
    queries: list[dict[str, list[str]]] = field(default_factory=list)
    url: str = ""


@contextmanager
def market(fake: FakeMarket) -> Iterator[FakeMarket]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_POST(self) -> None:
            assert self.headers[SIGNATURE_HEADER]
            self._reply(fake.leave, {"url": f"{fake.url}/relay", "ticket": "t", "detail": "Later."})

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            fake.queries.append(query)
            self._reply(200, fake.says if query.get("protocol") != ["udp"] else fake.says_of_udp or fake.says)

        def _reply(self, status: int, words: dict[str, object]) -> None:
            body = json.dumps(words).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After", "60" if status == 429 else "0")
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def found(fake: FakeMarket, **chosen: object) -> list[Check]:
    with market(fake):
        config = AgentConfig(url=fake.url, address="203.1.2.3", listen="127.0.0.1", port_first=23_450, port_last=23_470)
        config = AgentConfig(**{**vars(config), **chosen})
        link = Link(url=fake.url, host_id="ab" * 16, key=Ed25519PrivateKey.generate())
        checks = list(PortCheck(config, link).checks())
        link.close()
        link.close_waiting()
        return checks


def test_both_ends_of_the_range_are_dialled() -> None:
    fake = FakeMarket()
    (check,) = found(fake)
    assert (check.id, check.passed) == ("ports", True)
    dialled = [query for query in fake.queries if "protocol" not in query]
    first, last = (int(query["port"][0]) for query in dialled)
    assert 23_450 <= first < last <= 23_470
    assert len({query["nonce"][0] for query in dialled}) == 2


def test_udp_is_tried_at_both_ends_too() -> None:
    fake = FakeMarket(says_of_udp={"reached": True, "reason": "", "protocol": "udp"})
    _, check = found(fake)
    assert (check.id, check.passed, check.required) == ("udp_ports", True, "UDP 23450-23470 open at 203.1.2.3")
    first, last = (int(query["port"][0]) for query in fake.queries if query.get("protocol") == ["udp"])
    assert 23_450 <= first < last <= 23_470


def test_udp_that_is_not_reached_is_a_finding_of_its_own() -> None:
    ports, udp = found(FakeMarket(says_of_udp={"reached": False, "reason": "timeout", "protocol": "udp"}))
    assert (ports.passed, udp.passed) == (True, False)
    assert "UDP 23450 at 203.1.2.3" in udp.actual and "firewall" in udp.actual


def test_one_that_is_not_reached_is_told_what_to_open() -> None:
    (check,) = found(FakeMarket(says={"reached": False, "reason": "timeout"}))
    assert check.passed is False
    assert check.required == "TCP 23450-23470 open at 203.1.2.3"
    assert "203.1.2.3" in check.actual
    assert "firewall" in check.actual


def test_behind_nat_the_link_to_the_relay_is_what_counts() -> None:
    for reached in (True, False):
        (check,) = found(FakeMarket(says={"reached": reached, "reason": ""}), behind_nat=True)
        assert check.passed is reached
        assert "relay" in check.actual


def test_a_market_of_before_is_not_asked_again() -> None:
    assert found(FakeMarket(leave=404)) == []


def test_one_that_refuses_for_now_is_no_fault_of_the_host() -> None:
    (check,) = found(FakeMarket(leave=429))
    assert (check.passed, check.reason) == (None, "refused")
