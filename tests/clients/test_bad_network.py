"""`berth rent` over a network that loses the answer to the order: one instance, and its id is always found."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.bad_network import Network, bad_network
from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack


@pytest.fixture
def network(market: Stack) -> Iterator[Network]:
    with bad_network(market.url) as running:
        yield running


@pytest.fixture
def bob(market: Stack, network: Network, tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, network.url, market.people["bob"]["token"])
    yield terminal
    network.losses = 0
    for instance in terminal.json("ls"):
        terminal.must("rm", instance["id"], "--yes", "--wait")


def test_an_order_whose_answer_is_lost_is_placed_once(bob: Terminal, network: Network) -> None:
    network.losses = 2
    rented = bob.json("rent", "4090", "--yes", "--no-wait", "--name", "once")
    assert network.lost == 2
    assert [each["id"] for each in bob.json("ls")] == [rented["id"]]


def test_an_order_whose_every_answer_is_lost_is_found_again(bob: Terminal, network: Network) -> None:
    network.losses = 100
    done = bob.run("rent", "4090", "--yes", "--no-wait", "--name", "lost one")
    assert (done.returncode, done.stdout) == (7, "")
    (instance,) = bob.json("ls")
    network.losses = 0
    again = re.search(r"^  berth (rent .*)$", done.stderr, re.MULTILINE)
    assert again is not None
    found = bob.json(*shlex.split(again.group(1)), "--no-wait")
    assert found["id"] == instance["id"]
    assert len(bob.json("ls")) == 1


def test_a_release_whose_answer_is_lost_is_done(bob: Terminal, network: Network) -> None:
    instance = bob.json("rent", "4090", "--yes", "--name", "short")["id"]
    network.method, network.path, network.losses = "DELETE", f"/api/v1/instances/{instance}", 1
    bob.must("rm", "short", "--yes", "--wait")
    assert network.lost == 1
    assert bob.json("ls") == []


def test_a_copy_whose_price_rises_while_it_is_agreed_to_is_refused(bob: Terminal, network: Network, market: Stack) -> None:
    hana = Terminal(bob.home, market.url, market.people["hana"]["token"])
    own = bob.json("rent", "4090", "--disk", "60", "--yes", "--name", "copied")["id"]
    bob.must("stop", "copied", "--wait")

    def raise_price(method: str, path: str) -> None:
        if (method, path) == ("POST", f"/api/v1/instances/{own}/clone"):
            hana.must("host", "price", "sim", "3.70")

    network.before = raise_price
    try:
        done = bob.run("clone", "copied", "--yes")
        assert (done.returncode, "price_changed" in done.stderr) == (5, True), done.stderr
        network.before = lambda method, path: None
        assert bob.json("clone", "copied", "--yes", "--wait", "--name", "copy")["state"] == "running"
    finally:
        hana.must("host", "price", "sim", "3.60")


def test_a_copy_whose_every_answer_is_lost_is_made_once(bob: Terminal, network: Network) -> None:
    own = bob.json("rent", "4090", "--yes", "--name", "source")["id"]
    bob.must("stop", "source", "--wait")
    network.path = f"/api/v1/instances/{own}/clone"

    def lose_the_order(method: str, path: str) -> None:
        if (method, path) == (network.method, network.path):  # and not the dry run before it
            network.losses = 100

    network.before = lose_the_order
    lost = bob.run("clone", "source", "--yes", "--name", "twin")
    network.before, network.losses = lambda method, path: None, 0
    assert (lost.returncode, lost.stdout) == (7, ""), lost.stderr
    again = re.search(r"^  berth (clone .*)$", lost.stderr, re.MULTILINE)
    assert again is not None
    copy = bob.json(*shlex.split(again.group(1)), "--wait")
    assert {each["id"] for each in bob.json("ls")} == {own, copy["id"]}
