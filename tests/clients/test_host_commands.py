"""`berth host price` and `berth host maintenance` against a whole market."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack


@pytest.fixture
def hana(market: Stack, alice: Terminal) -> Terminal:
    return Terminal(alice.home, market.url, market.people["hana"]["token"])


@pytest.fixture
def offer(market: Stack, hana: Terminal) -> Iterator[dict[str, Any]]:
    """The only offer of the host; its prices are as before afterwards."""
    host = hana.json("host", "price", "sim")
    (found,) = host["offers"]
    yield found
    kept = {name: found[name] for name in ("id", "price_hourly", "reserved_discounts", "tiers", "spot_floor", "disk_gb_day")}
    kept |= {"hold_share": found["hold_share"], "listed": True}
    with market.client("hana") as client:
        client.patch(f"/api/v1/hosts/{host['id']}/listing", json={"offers": [kept]}).raise_for_status()


SETTINGS = (
    *("--discount", "week=10%", "--discount", "day=none", "--tier", "720=0.15", "--tier", "100=5%"),
    *("--spot-floor", "1.20", "--disk", "0.0025", "--hold-share", "35%"),
)


def test_all_prices_are_set_and_shown(hana: Terminal, offer: dict[str, Any]) -> None:
    (changed,) = hana.json("host", "price", "sim", "3.70", *SETTINGS)["offers"]
    assert (changed["price_hourly"], changed["spot_floor"], changed["disk_gb_day"]) == ("3.70", "1.20", "0.0025")
    assert (changed["reserved_discounts"]["week"], changed["reserved_discounts"]["day"]) == ("0.1", None)
    assert changed["reserved_discounts"]["month"] == offer["reserved_discounts"]["month"]
    steps = [(step["from_hours"], step["discount"]) for step in changed["tiers"]]
    assert (steps, changed["hold_share"]) == ([(100, "0.05"), (720, "0.15")], "0.35")
    shown = hana.must("host", "price", "sim")
    assert "SPOT FLOOR" in shown and "1.20" in shown and "720 h: 0.15" in shown

    (without,) = hana.json("host", "price", "sim", "--no-spot", "--no-tiers")["offers"]
    assert (without["spot_floor"], without["tiers"], without["price_hourly"]) == (None, [], "3.70")


def test_a_dry_run_shows_changes_and_makes_none(hana: Terminal, offer: dict[str, Any]) -> None:
    rows = hana.json("host", "price", "sim", "3.70", *SETTINGS, "--dry-run")
    changes = {row["field"]: (row["now"], row["then"]) for row in rows}
    assert changes["price_hourly"] == (offer["price_hourly"], "3.70")
    assert (changes["discount week"][1], changes["tiers"][1]) == ("0.1", "100 h: 0.05, 720 h: 0.15")
    assert hana.json("host", "price", "sim", offer["price_hourly"], "--dry-run") == []
    assert hana.json("host", "unlist", "sim", "--dry-run")[0]["field"] == "listed"
    assert hana.json("host", "price", "sim")["offers"] == [offer]


@pytest.mark.parametrize(
    "words",
    [
        ("--discount", "decade=10%"),
        ("--discount", "week=much"),
        ("--tier", "soon=10%"),
        ("--spot-floor", "1", "--no-spot"),
        ("--gpu", "H100", "3"),
        ("--dry-run",),
    ],
    ids=" ".join,
)
def test_what_is_no_price_is_refused(hana: Terminal, words: tuple[str, ...]) -> None:
    assert hana.run("host", "price", "sim", *words).returncode == 2


def test_maintenance_is_announced_listed_and_cancelled(hana: Terminal) -> None:
    starts = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    words = ("host", "maintenance", "announce", "sim", "--from", starts.isoformat(), "--hours", "1.5", "--category", "power")
    assert hana.json(*words, "--dry-run")["category"] == "power"
    assert hana.json("host", "maintenance", "ls", "sim") == []

    made = hana.json(*words, "--detail", "New fuses")
    assert (made["detail"], made["excuses"]) == ("New fuses", True)
    assert datetime.fromisoformat(made["ends_at"]) - datetime.fromisoformat(made["starts_at"]) == timedelta(hours=1.5)
    assert "New fuses" in hana.must("host", "maintenance", "ls", "sim")

    assert hana.json("host", "maintenance", "cancel", "sim", "--dry-run")["id"] == made["id"]
    assert hana.json("host", "maintenance", "cancel", "sim")["cancelled_at"] is not None
    assert hana.json("host", "maintenance", "ls", "sim") == []
    assert made["id"] in hana.must("host", "maintenance", "ls", "sim", "--all", "-o", "name")
    assert hana.run("host", "maintenance", "cancel", "sim").returncode == 4


def test_a_time_without_an_offset_is_of_this_machine(hana: Terminal) -> None:
    starts = (datetime.now(UTC) + timedelta(days=3)).replace(hour=9, minute=0, second=0, microsecond=0, tzinfo=None)
    hana.settings = {"TZ": "Asia/Shanghai"}
    window = hana.json(
        *("host", "maintenance", "announce", "sim", "--from", f"{starts:%Y-%m-%dT%H:%M}"),
        *("--until", f"{starts:%Y-%m-%dT11:00}", "--dry-run"),
    )
    assert window["starts_at"] == f"{starts:%Y-%m-%d}T01:00:00Z"
    assert window["ends_at"] == f"{starts:%Y-%m-%d}T03:00:00Z"


@pytest.mark.parametrize(
    "words", [("--from", "soon", "--hours", "1"), ("--from", "2026-12-01T02:00"), ("--hours", "1")], ids=" ".join
)
def test_maintenance_without_its_times_is_refused(hana: Terminal, words: tuple[str, ...]) -> None:
    assert hana.run("host", "maintenance", "announce", "sim", *words).returncode == 2
