"""The address that a host offers of itself: never one that leads nowhere from outside."""

import ipaddress

import pytest

from agents.daemon.control_plane import own_address
from agents.daemon.control_plane.own_address import is_good_for

PUBLIC = "203.1.2.3"
PUBLIC_V6 = "2a01:4f8::1"


@pytest.mark.parametrize(
    "address",
    [
        "192.168.1.5",
        "10.0.0.7",
        "172.20.1.1",
        "127.0.0.1",
        "169.254.3.4",
        "100.64.0.9",
        "100.127.255.1",
        "fd00::5",
        "fe80::1",
        "::1",
    ],
)
def test_none_of_these_is_good_for_a_public_market(address: str) -> None:
    for market in (PUBLIC, PUBLIC_V6):
        assert not is_good_for(ipaddress.ip_address(address), ipaddress.ip_address(market))


@pytest.mark.parametrize(
    ("address", "market"),
    [
        (PUBLIC, PUBLIC),
        (PUBLIC_V6, PUBLIC_V6),
        ("192.168.1.5", "192.168.1.1"),
        ("100.64.0.9", "100.64.0.1"),
        ("fd00::5", "fd00::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        (PUBLIC, "10.0.0.1"),
    ],
)
def test_these_are(address: str, market: str) -> None:
    assert is_good_for(ipaddress.ip_address(address), ipaddress.ip_address(market))


def test_what_the_owner_names_stays() -> None:
    assert own_address.own_address("http://127.0.0.1:8000", "10.1.2.3") == "10.1.2.3"


def test_on_one_machine_it_is_loopback() -> None:
    assert own_address.own_address("http://127.0.0.1:8000", "0.0.0.0") == "127.0.0.1"
    assert own_address.own_address("http://[::1]:8000", "0.0.0.0") in ("::1", "")  # a machine may have no IPv6


def test_towards_a_market_that_cannot_be_found_there_is_none() -> None:
    assert own_address.own_address("http://market.invalid", "0.0.0.0") == ""
