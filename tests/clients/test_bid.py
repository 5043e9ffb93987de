"""`berth bid`: the maximum of a spot instance, changed while it runs."""

from collections.abc import Iterator

import pytest

from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack


@pytest.fixture
def spot(market: Stack, carol: Terminal) -> Iterator[str]:
    """A spot instance on a host that takes bids for the time of the test."""
    hana = Terminal(carol.home, market.url, market.people["hana"]["token"])
    hana.must("host", "price", "sim", "--spot-floor", "1.00")
    carol.must("rent", "4090", "--mode", "spot", "--bid", "1.50", "--name", "cheap", "--yes")
    yield "cheap"
    hana.must("host", "price", "sim", "--no-spot")


def test_a_bid_is_shown_and_changed(carol: Terminal, spot: str) -> None:
    assert "at most 1.50 per GPU and hour" in carol.must("bid", spot)
    assert carol.json("bid", spot, "2", "--dry-run")["billing"]["spot"]["max_price"] == "2.00"
    assert carol.json("bid", spot)["billing"]["spot"]["max_price"] == "1.50"
    changed = carol.json("bid", spot, "2")
    assert (changed["state"], changed["billing"]["spot"]["max_price"]) == ("running", "2.00")
    assert carol.run("bid", spot, "0.10").returncode == 5
    assert carol.run("bid", spot, "--withdraw", "2").returncode == 2
    assert carol.run("bid", spot, "--withdraw").returncode == 5, "it holds its GPUs"


def test_only_a_spot_instance_has_a_bid(carol: Terminal) -> None:
    carol.must("rent", "4090", "--name", "box", "--yes")
    refused = carol.run("bid", "box")
    assert (refused.returncode, "isn't a spot instance" in refused.stderr) == (5, True), refused.stderr
