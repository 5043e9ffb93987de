"""Orders whose every answer is lost: the command says how to find out, and a line that sends the same order once more."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from berth import Client, RetryPolicy, errors, models
from tests.clients.lying_server import Market, cut_after, lying_market, status
from tests.clients.samples import OWN, answers, instance, sample
from tests.clients.terminal import Terminal

TEAM, ELSEWHERE = "team_1", "offr_" + "2" * 32


@pytest.fixture
def market() -> Iterator[Market]:
    with lying_market() as running:
        yield running


@pytest.fixture
def renter(market: Market, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, market.url, "berth_t")


def page(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"next": None, "previous": None, "results": list(rows)}


def stopped() -> dict[str, Any]:
    return instance(state="stopped", desired="stopped", data_disk_gb=10, offer="offr_" + "1" * 32)


def priced() -> dict[str, Any]:
    found: dict[str, Any] = sample(models.Offer)
    return found | {"total": "3.60"}


VOLUME = {**sample(models.VolumeOut), "id": "vol_1", "name": "store"}
TEAMS = page({**sample(models.TeamOut), "id": TEAM, "name": "lab"})
MEMBERS = page({**sample(models.MemberOut), "id": "memb_1", "email": "ada@example.com", "user_id": "user_2"})
# words, what is read before the order and before its repetition, the answer to the order, what shows it
ORDERS: dict[str, tuple[tuple[str, ...], list[Any], list[Any], Any, str]] = {
    "clone": (
        ("clone", OWN, "--gpus", "1", "--without-data", "--name", "my copy", "--yes"),
        [stopped(), priced(), stopped()],
        [stopped()],
        stopped(),
        "berth ls",
    ),
    "clone with settings": (
        ("clone", OWN, "--gpus", "1", "-e", "MODE=fast", "--args", "a 'b c'", "--yes", "--", "python", "serve.py"),
        [stopped(), priced(), stopped()],
        [stopped()],
        stopped(),
        "berth ls",
    ),
    "migrate": (
        ("migrate", OWN, "--offer", ELSEWHERE, "--yes"),
        [stopped(), priced(), stopped()],
        [stopped()],
        stopped(),
        "berth ls",
    ),
    "volume copy": (
        ("volume", "copy", "store", "host_2", "store-2", "--max-price", "0.50"),
        [page(VOLUME)],
        [page(VOLUME)],
        VOLUME,
        "berth volume ls",
    ),
    "team transfer": (
        ("team", "transfer", "lab", "ada@example.com", "20", "--memo", "for May", "--yes"),
        [TEAMS, MEMBERS],
        [TEAMS, MEMBERS],
        sample(models.TransferOut),
        "berth wallet --entries",
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_same_order_is_sent_again_under_the_same_key(market: Market, renter: Terminal, name: str) -> None:
    words, before, again, answer, look = ORDERS[name]
    answers(market, *before)
    market.tricks.append(status(503, X_Should_Retry="false"))
    lost = renter.run(*words)
    assert (lost.returncode, lost.stdout) == (7, ""), lost.stderr
    assert f"`{look}` shows whether" in lost.stderr
    line = re.search(r"^  berth (.*)$", lost.stderr, re.MULTILINE)
    assert line is not None
    answers(market, *again, answer)
    renter.must(*shlex.split(line[1]))
    first, second = [each for each in market.requests if each[0] == "POST" and "dry_run" not in each[1]]
    assert first[1] == second[1]
    assert json.loads(first[3]) == json.loads(second[3])
    assert first[2]["idempotency-key"] == second[2]["idempotency-key"]


def test_a_copy_is_not_repeated_at_another_price(market: Market, renter: Terminal) -> None:
    answers(market, stopped())
    done = renter.run("clone", OWN, "--idempotency-key", "k", "--yes")
    assert (done.returncode, "--max-price" in done.stderr) == (2, True), done.stderr


def test_the_error_of_a_lost_answer_names_the_key(market: Market) -> None:
    """Also where a command has no such line: the market may have acted although the client has tried again."""
    market.tricks = [cut_after, cut_after]
    quick = RetryPolicy(retries=1, first_pause=0.01)
    with Client(market.url, "berth_t", retries=quick) as client:
        with pytest.raises(errors.ConnectionFailed, match=r"may have got the request.*Idempotency-Key my-key"):
            client.ssh_keys.create(public_key="x", idempotency_key="my-key")
        market.tricks = [cut_after, cut_after]
        with pytest.raises(errors.ConnectionFailed) as read:
            client.me.get()
    assert "may have got" not in str(read.value)
