"""`--dry-run` of commands that change something: it says what would be, and nothing is."""

from typing import Any

import pytest

from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack


def test_instances_are_not_released(market: Stack, carol: Terminal) -> None:
    carol.must("rent", "4090", "--disk", "3", "--name", "box", "--yes")
    done = carol.run("rm", "box", "--dry-run")
    assert (done.returncode, "data disks of 3 GB" in done.stderr, "box" in done.stdout) == (0, True, True), done.stderr
    (box,) = carol.json("ls")
    assert (box["state"], box["desired"]) == ("running", "running")

    carol.must("api", "PATCH", f"/instances/{box['id']}", "-f", "locked=true")
    refused = carol.run("rm", "box", "--dry-run")
    assert (refused.returncode, "protected against release" in refused.stderr) == (5, True)
    carol.must("api", "PATCH", f"/instances/{box['id']}", "-f", "locked=false")


def test_a_volume_costs_what_was_shown(carol: Terminal) -> None:
    (host,) = carol.json("volume", "hosts")
    create = ("volume", "create", "data", "--size", "2", "--host", host["id"])
    rehearsed = carol.run(*create, "--dry-run")
    assert (rehearsed.returncode, "a day." in rehearsed.stderr) == (0, True), rehearsed.stderr
    dear = carol.run(*create, "--max-price", "0.0001")
    assert (dear.returncode, "more than --max-price 0.0001" in dear.stderr) == (6, True), dear.stderr
    assert carol.json("volume", "ls") == []

    made = carol.json(*create, "--max-price", "1")
    assert f"2 GB on sim cost {made['daily_rate']} a day." in rehearsed.stderr


def test_volumes_and_snapshots_stay_as_they_are(carol: Terminal) -> None:
    (host,) = carol.json("volume", "hosts")
    carol.must("volume", "create", "data", "--size", "1", "--host", host["id"])
    grown = carol.run("volume", "resize", "data", "2", "--dry-run")
    assert (grown.returncode, "2 GB cost" in grown.stderr) == (0, True), grown.stderr
    assert carol.run("volume", "resize", "data", "2", "--max-price", "0.0001", "--dry-run").returncode == 5
    carol.must("snapshot", "create", "before", "--volume", "data", "--dry-run")
    assert carol.json("snapshot", "ls") == []
    done = carol.run("volume", "rm", "data", "--dry-run")
    assert (done.returncode, "Nothing was done" in done.stderr) == (0, True)
    (volume,) = carol.json("volume", "ls")
    assert (volume["size_gb"], volume["state"], volume["growth"]) == (1, "ready", None)


def test_templates_stay_as_they_are(carol: Terminal) -> None:
    create = ("template", "create", "Tiny", "--image", "berth-base")
    assert carol.json(*create, "--dry-run")["slug"] == "tiny"
    assert carol.json("template", "ls", "--source", "own") == []
    made = carol.json(*create)
    for verb in ("publish", "share", "rm"):
        done = carol.run("template", verb, "tiny", "--dry-run")
        assert (done.returncode, "Nothing was done." in done.stderr) == (0, True), done.stderr
    changing = ("version", "visibility", "share_token", "updated_at")
    assert _part(carol.json("template", "show", "tiny"), changing) == _part(made, changing)
    carol.must("template", "rm", "tiny", "--yes")


def _part(found: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in names}


def test_hosts_stay_as_they_are(market: Stack, alice: Terminal) -> None:
    hana = Terminal(alice.home, market.url, market.people["hana"]["token"])
    before = hana.json("host", "show", "sim")
    for words in (("drain", "sim"), ("self-test", "sim"), ("revoke-agent", "sim"), ("unlist", "sim")):
        hana.must("host", *words, "--dry-run")
    hana.must("host", "add", "rack-8", "--region", "local", "--price", "1.20", "--dry-run")
    after = hana.json("host", "show", "sim")
    kept = ("draining", "agent_revoked_at", "offers")
    assert _part(after, kept) == _part(before, kept)
