"""`berth apply --replace`: what the market would refuse is refused while the old thing is still there."""

from typing import Any

import pytest

from tests.clients.plans import Declare, actions, changed
from tests.clients.terminal import Terminal
from tests.waiting import wait_until

pytestmark = pytest.mark.stack

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a template that the host doesn't suit": ({"launch_template": "huge"}, "The template needs"),
    "an input that there isn't": ({"launch_template": "plain", "inputs": {"OTHER": "1"}}, "doesn't have this input"),
    "a variable of the market's own": ({"env": {"LD_PRELOAD": "x"}}, "Use another name"),
    "an unknown SSH key": ({"ssh_key_ids": ["nobody"]}, "There is no SSH key 'nobody'"),
    "an unknown data set": ({"data_sets": ["nowhere"]}, "nowhere"),
    "a port of the image's own": ({"ports": [22]}, "22"),
    "more than it may cost": ({"max_total": "0.01"}, "max_total"),
}


@pytest.fixture
def box(carol: Terminal, declare: Declare) -> str:
    """An instance with a data disk, which a smaller disk replaces."""
    carol.must("apply", "-f", declare(("instance", "box", {"filter": "4090", "data_disk_gb": 20})), "--yes")
    return str(carol.json("show", "box")["id"])


def test_an_order_that_would_be_refused_deletes_nothing(carol: Terminal, declare: Declare, box: str) -> None:
    carol.must("template", "create", "Huge", "--image", "berth-base", "--min-vram", "80")
    carol.must("template", "create", "Plain", "--image", "berth-base")
    for name, (spec, message) in REFUSED.items():
        file = declare(("instance", "box", {"filter": "4090", "data_disk_gb": 10, **spec}))
        done = carol.run("apply", "-f", file, "--yes", "--replace", "box")
        assert (done.returncode != 0, message in done.stderr) == (True, True), f"{name}: {done.returncode} {done.stderr}"
        assert [(each["id"], each["state"]) for each in carol.json("ls")] == [(box, "running")], name


def test_a_volume_that_another_instance_has_is_named_in_the_plan(carol: Terminal, declare: Declare, box: str) -> None:
    other = {"filter": "4090", "volume_ids": ["store"]}
    carol.must("apply", "-f", declare(("volume", "store", {"size_gb": 1}), ("instance", "other", other)), "--yes")
    file = declare(("instance", "box", {"filter": "4090", "data_disk_gb": 10, "volume_ids": ["store"]}))
    plan = carol.json("plan", "-f", file)
    assert actions(plan) == {"box": "blocked"}
    assert "detach it there first" in plan[0]["notes"][0]
    assert carol.run("apply", "-f", file, "--yes", "--replace", "box").returncode == 5
    assert box in {each["id"] for each in carol.json("ls")}


def test_it_is_replaced_once_the_order_is_right(carol: Terminal, declare: Declare, box: str) -> None:
    file = declare(("instance", "box", {"filter": "4090", "data_disk_gb": 10, "env": {"A": "1"}, "ports": [8000]}))
    carol.must("apply", "-f", file, "--yes", "--replace", "box")
    after = carol.json("show", "box")
    assert (after["id"] != box, after["data_disk_gb"], after["launch"]["env"]) == (True, 10, {"A": "1"})


def test_a_volume_that_could_not_be_made_anew_is_kept(carol: Terminal, declare: Declare) -> None:
    (host,) = carol.json("volume", "hosts")
    carol.must("apply", "-f", declare(("volume", "store", {"size_gb": 2, "host": host["name"]})), "--yes")
    (before,) = carol.json("volume", "ls")
    for spec in ({"size_gb": 1, "snapshot": "nowhere"}, {"size_gb": 1, "host": "host_" + "0" * 32}):
        done = carol.run("apply", "-f", declare(("volume", "store", spec)), "--yes", "--replace", "store")
        assert done.returncode in (4, 5), done.stderr
        assert [each["id"] for each in carol.json("volume", "ls")] == [before["id"]]
    carol.must("apply", "-f", declare(("volume", "store", {"size_gb": 1})), "--yes", "--replace", "store")
    (after,) = carol.json("volume", "ls")
    assert (after["id"] != before["id"], after["size_gb"]) == (True, 1)


def test_another_snapshot_is_a_replacement(carol: Terminal, declare: Declare) -> None:
    (host,) = carol.json("volume", "hosts")
    carol.must("apply", "-f", declare(("volume", "store", {"size_gb": 1, "host": host["name"]})), "--yes")
    carol.must("snapshot", "create", "base", "--volume", "store")
    wait_until("snapshot", lambda: carol.json("snapshot", "ls")[0]["state"] == "ready")
    file = declare(("volume", "store", {"snapshot": "base"}))
    plan = carol.json("plan", "-f", file)
    snapshot = carol.json("snapshot", "ls")[0]["id"]
    assert (actions(plan), changed(plan)) == ({"store": "replace"}, {"snapshot": (None, "base")})
    assert carol.run("apply", "-f", file, "--yes").returncode == 2
    carol.must("apply", "-f", file, "--yes", "--replace", "store")
    assert [each["snapshot"] for each in carol.json("volume", "ls")] == [snapshot]
    for name in ("base", snapshot):
        assert actions(carol.json("plan", "-f", declare(("volume", "store", {"snapshot": name})))) == {"store": "none"}
    carol.must("volume", "rm", "store", "--yes")
    wait_until("no volume", lambda: carol.json("volume", "ls") == [])
    carol.must("snapshot", "rm", "base", "--yes")
