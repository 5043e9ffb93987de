"""What is copied or moved can't cost more than the price that was shown when it was agreed to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from berth import models
from tests.clients.lying_server import Market, lying_market
from tests.clients.samples import OWN, answers, instance, sample
from tests.clients.terminal import Terminal

ELSEWHERE = "offr_" + "2" * 32
VOLUME = {"id": "vol_1", "name": "store", "state": "ready", "size_gb": 3, "attached_to": None, "growth": None, "move": None}


@pytest.fixture
def market() -> Iterator[Market]:
    with lying_market() as running:
        yield running


@pytest.fixture
def renter(market: Market, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, market.url, "berth_t")


def stopped() -> dict[str, Any]:
    found = instance(state="stopped", desired="stopped", data_disk_gb=60, offer="offr_" + "1" * 32)
    found["gpu"]["count"] = 2
    return found


def priced(total: str) -> dict[str, Any]:
    found: dict[str, Any] = sample(models.Offer)
    return found | {"total": total}


def bodies(market: Market, verb: str) -> list[dict[str, Any]]:
    return [json.loads(body) for method, path, _, body in market.requests if method == "POST" and path.endswith(verb)]


@pytest.mark.parametrize("verb", ["clone", "migrate"])
def test_a_copy_and_a_move_are_ordered_for_the_price_that_was_shown(market: Market, renter: Terminal, verb: str) -> None:
    answers(market, stopped(), priced("7.4125"), stopped(), stopped())
    done = renter.run(verb, OWN, "--offer", ELSEWHERE, "--yes")
    assert (done.returncode, "7.4125 an hour" in done.stderr) == (0, True), done.stderr
    requested = market.requests[1][1]
    assert ELSEWHERE in requested and "data_disk_gb=60" in requested and "gpu_count=2" in requested
    assert [each["max_hourly_rate"] for each in bodies(market, f"/{verb}")] == ["7.4125"]


def test_a_copy_without_data_is_priced_without_its_disk(market: Market, renter: Terminal) -> None:
    answers(market, stopped(), priced("3.60"), stopped(), stopped())
    renter.must("clone", OWN, "--without-data", "--gpus", "1", "--yes")
    assert "data_disk_gb=0" in market.requests[1][1] and "gpu_count=1" in market.requests[1][1]
    assert bodies(market, "/clone")[0]["max_hourly_rate"] == "3.60"


@pytest.mark.parametrize("verb", ["clone", "migrate"])
def test_a_price_above_one_s_own_limit_is_refused(market: Market, renter: Terminal, verb: str) -> None:
    answers(market, stopped(), priced("7.40"))
    done = renter.run(verb, OWN, "--offer", ELSEWHERE, "--max-price", "7.39", "--yes")
    assert (done.returncode, "more than --max-price 7.39" in done.stderr) == (6, True), done.stderr
    assert bodies(market, f"/{verb}") == []


def test_a_volume_moves_for_the_price_of_the_plan(market: Market, renter: Terminal) -> None:
    volume, host = {**sample(models.VolumeOut), **VOLUME}, sample(models.StorageHostOut)
    volume["host"] |= {"id": "host_1", "name": "here"}
    host |= {"id": "host_2", "name": "there", "gb_day": "0.0125"}
    volumes = {"next": None, "previous": None, "results": [volume]}
    file = renter.home / "store.json"
    file.write_text(json.dumps({"kind": "volume", "name": "store", "spec": {"host": "there"}}))
    answers(market, volumes, [host], volume)
    done = renter.run("apply", "-f", str(file), "--yes")
    assert (done.returncode, "change (move): 0.0375 per day" in done.stderr) == (0, True), done.stderr
    assert bodies(market, "/move") == [{"host": "host_2", "max_daily_rate": "0.0375"}]
