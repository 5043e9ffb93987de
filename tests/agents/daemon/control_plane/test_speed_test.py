"""The network test over real HTTP on loopback, and against lines of known speed."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.daemon.control_plane.http_client import Link, LinkError
from agents.daemon.control_plane.speed_test import FIRST_BYTES, Transfer, measure_net, signed_connection
from agents.daemon.lib.config import public_hex
from agents.protocol.speed_test import LARGEST_BYTES
from tests.agents.daemon.market import HOST_ID, Market


@pytest.fixture
def link(market: Market) -> Link:
    key = Ed25519PrivateKey.generate()
    market.public_key = public_hex(key)
    return Link(url=market.url, host_id=HOST_ID, key=key)


def test_both_ways_are_measured_with_signed_requests(market: Market, link: Link) -> None:
    with signed_connection(link) as line:
        found = measure_net(line)
    assert found.up_mbps > 1
    assert found.down_mbps > 1
    assert abs(found.clock_offset_s) < 1
    assert market.speeds[0] == ("GET", 0)
    assert {method for method, _ in market.speeds} == {"GET", "POST"}
    assert len(market.speeds) <= 11
    assert max(size for _, size in market.speeds) <= LARGEST_BYTES


def test_the_clock_is_compared(market: Market, link: Link) -> None:
    market.clock_ahead_s = 90.0
    with signed_connection(link) as line:
        assert measure_net(line).clock_offset_s == pytest.approx(90, abs=1)


@pytest.mark.parametrize("status", [401, 404, 413, 429, 503])
def test_a_refusal_is_told(market: Market, link: Link, status: int) -> None:
    market.trouble.append(str(status))
    with signed_connection(link) as line, pytest.raises(LinkError, match=str(status)):
        measure_net(line)


def test_a_control_plane_that_is_gone(market: Market) -> None:
    link = Link(url="http://127.0.0.1:9", host_id=HOST_ID, key=Ed25519PrivateKey.generate())
    with signed_connection(link) as line, pytest.raises(LinkError):
        measure_net(line)


class KnownLine:
    """So many Mbit/s, whatever is sent."""

    def __init__(self, mbps: float) -> None:
        self.mbps = mbps
        self.sizes: list[int] = []

    def upload(self, size: int) -> Transfer:
        self.sizes.append(size)
        return Transfer(size * 8 / 1e6 / self.mbps, 0.0)

    download = upload


@pytest.mark.parametrize("mbps", [0.5, 10.0, 900.0, 20_000.0])
def test_a_known_line(mbps: float) -> None:
    line = KnownLine(mbps)
    found = measure_net(line)
    assert found.up_mbps == pytest.approx(mbps)
    assert found.down_mbps == pytest.approx(mbps)


def test_a_slow_line_is_not_held_for_long() -> None:
    line = KnownLine(0.5)
    measure_net(line)
    assert line.sizes == [0, FIRST_BYTES, FIRST_BYTES], "64 KiB take a second: that is enough"
