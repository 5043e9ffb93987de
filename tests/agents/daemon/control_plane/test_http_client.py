"""The link: what it signs, how it fails, and how long it then stays away."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from agents.daemon.control_plane.http_client import FIRST_DELAY, LONGEST_DELAY, Backoff, Link, LinkError, WaitTarget
from agents.daemon.lib.config import AgentConfig, load_or_make_key
from agents.protocol.messages import Report
from agents.protocol.version import SUPPORTED
from tests.agents.daemon.market import TICKET, Market

REPORT = Report("0.1.0", list(SUPPORTED), None)


@pytest.fixture
def link(market: Market, state: Path, config: AgentConfig) -> Iterator[Link]:
    made = Link(url=config.url, host_id=config.host_id, key=load_or_make_key(state))
    yield made
    made.close()
    made.close_waiting()


def test_each_request_is_signed_with_a_new_number(market: Market, link: Link) -> None:
    link.sync(REPORT)
    link.sync(REPORT)
    assert [item.sequence for item in market.envelopes] == [1, 2]
    assert {item.boot_id for item in market.envelopes} == {link.boot_id}


def test_another_key_is_refused(market: Market, config: AgentConfig) -> None:
    unknown_link = Link(url=config.url, host_id=config.host_id, key=Ed25519PrivateKey.generate())
    with pytest.raises(LinkError) as caught:
        unknown_link.sync(REPORT)
    assert caught.value.refused
    unknown_link.close()
    unknown_link.close_waiting()


def test_a_broken_connection_is_tried_once_more_under_a_new_number(market: Market, link: Link) -> None:
    market.trouble = ["drop"]
    link.sync(REPORT)
    assert [item.sequence for item in market.envelopes] == [1, 2]


def test_a_second_break_is_a_failure(market: Market, link: Link) -> None:
    market.trouble = ["drop", "drop"]
    with pytest.raises(LinkError, match="sync"):
        link.sync(REPORT)


def test_a_busy_market_says_when_to_come_back(market: Market, link: Link) -> None:
    market.trouble, market.retry_after = ["503"], "7"
    with pytest.raises(LinkError, match="503 in trouble") as caught:
        link.sync(REPORT)
    assert caught.value.retry_after_s == 7.0
    assert not caught.value.refused


def test_nobody_there(market: Market, config: AgentConfig, state: Path) -> None:
    lost = Link(url="http://127.0.0.1:9", host_id=config.host_id, key=load_or_make_key(state))
    with pytest.raises(LinkError, match="sync"):
        lost.sync(REPORT)
    with pytest.raises(LinkError, match="waiting"):
        lost.wait(WaitTarget("http://127.0.0.1:9/wait", 0, ""))
    lost.close()
    lost.close_waiting()


def test_waiting_ends_when_the_counter_differs(market: Market, link: Link) -> None:
    market.want()
    link.wait(WaitTarget(f"{market.url}/agent/v1/wait", 0, TICKET))
    with pytest.raises(LinkError, match="403") as caught:
        link.wait(WaitTarget(f"{market.url}/agent/v1/wait", 0, "bad"))
    assert caught.value.refused


def test_an_answer_that_is_no_message(market: Market, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(market, "sync", lambda *_: b"<html>")
    with pytest.raises(LinkError, match="not understood"):
        link.sync(REPORT)


@given(st.integers(1, 40))
def test_delays_grow_within_bounds(tries: int) -> None:
    backoff, ceiling = Backoff(), FIRST_DELAY
    for _ in range(tries):
        delay = backoff.next_delay(LinkError("x"))
        assert ceiling / 2 <= delay <= ceiling
        ceiling = min(LONGEST_DELAY, ceiling * 2)
    backoff.reset()
    assert backoff.next_delay(LinkError("x")) <= FIRST_DELAY


def test_fault_102_the_market_is_obeyed_with_jitter() -> None:
    delays = {Backoff().next_delay(LinkError("x", retry_after_s=5.0)) for _ in range(20)}
    assert min(delays) >= 5.0
    assert len(delays) > 10, "a herd does not come back in one instant"
    assert Backoff().next_delay(LinkError("x", refused=True)) >= 15.0


def test_the_url_may_end_with_a_slash(market: Market, config: AgentConfig, state: Path) -> None:
    slashed = replace(config, url=market.url + "/")
    made = Link(url=slashed.url, host_id=config.host_id, key=load_or_make_key(state))
    made.sync(REPORT)
    made.close()
    made.close_waiting()
