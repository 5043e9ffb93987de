"""`berth plan`, `apply` and `destroy` against a whole market: a life from nothing to nothing, and every kind of change."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.clients.plans import Declare, actions, calls, changed
from tests.clients.terminal import Terminal

pytestmark = pytest.mark.stack


def test_from_nothing_to_nothing(carol: Terminal, declare: Declare) -> None:
    template = {"image": "berth-base", "launch": {"env": {"MODE": "slow"}, "secrets": ["HF_TOKEN"]}, "data_disk_gb": 10}
    spec: dict[str, Any] = {
        "filter": "4090",
        "launch_template": "trainer",
        "inputs": {"HF_TOKEN": "${env:HF_TOKEN}"},
        "env": {"SIZE": "${env:SIZE}"},
        "volume_ids": ["data"],
    }
    file = declare(("instance", "train", spec), ("volume", "data", {"size_gb": 2}), ("template", "trainer", template))
    carol.settings["SIZE"] = "tiny"

    shown = carol.run("plan", "-f", file, "--exit-code")
    assert shown.returncode == 9, shown.stderr
    assert "s3cret-value" not in shown.stdout + shown.stderr
    assert "+ instance train: create: 3.60 per hour in total" in shown.stdout
    plan = carol.json("plan", "-f", file)
    assert list(actions(plan).items()) == [("trainer", "create"), ("data", "create"), ("train", "create")]
    assert carol.json("ls") == carol.json("volume", "ls") == []

    mistaken = carol.run("plan", "-f", declare(("volume", "data", {"size": 2})), "--exit-code")
    assert mistaken.returncode == 2, mistaken.stderr
    file = declare(("instance", "train", spec), ("volume", "data", {"size_gb": 2}), ("template", "trainer", template))

    refused = carol.run("apply", "-f", file)
    assert (refused.returncode, "--yes" in refused.stderr, carol.json("volume", "ls")) == (2, True, [])
    done = carol.json("apply", "-f", file, "--yes")
    assert {each["name"]: each["id"].partition("_")[0] for each in done} == {
        "trainer": "tmpl",
        "data": "vol",
        "train": "inst",
    }
    (instance,) = carol.json("ls")
    (volume,) = carol.json("volume", "ls")
    assert (instance["state"], instance["name"], volume["attached_to"]) == ("running", "train", instance["id"])
    assert instance["launch"]["env"] == {"MODE": "slow", "SIZE": "tiny"}
    assert (instance["launch"]["secrets"], instance["data_disk_gb"]) == (["HF_TOKEN"], 10)

    again = carol.run("plan", "-f", file, "--exit-code")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Nothing to do." in again.stdout
    assert carol.json("apply", "-f", file)[2]["action"] == "none"

    assert carol.run("destroy", "-f", file).returncode == 2
    carol.must("destroy", "-f", file, "--yes")
    assert carol.json("ls") == carol.json("volume", "ls") == []
    assert carol.json("destroy", "-f", file)[0]["action"] == "none"
    assert set(actions(carol.json("plan", "-f", file)).values()) == {"create"}


def test_what_changes_in_place(carol: Terminal, declare: Declare) -> None:
    spec: dict[str, Any] = {"filter": "4090", "env": {"A": "1"}, "data_disk_gb": 10}
    carol.must("apply", "-f", declare(("instance", "box", spec)), "--yes")
    (before,) = carol.json("ls")
    spec |= {
        "env": {"B": "2"},
        "secrets": {"HF_TOKEN": {"from_env": "HF_TOKEN"}},
        "command": "python train.py",
        "readiness": {"port": 8000, "path": "/ok"},
        "on_start": "echo ready\n",
        "data_disk_gb": 12,
        "locked": True,
        "idle_stop": {"below_pct": 5, "minutes": 30},
        "allow_from": ["10.0.0.0/8"],
        "ports": [8000],
        "udp_ports": [51820],
        "schedule": {"weekly": [{"action": "stop", "days": ["mon"], "time": "18:00"}], "time_zone": "UTC"},
    }
    file = declare(("instance", "box", spec))
    plan = carol.json("plan", "-f", file)
    found = changed(plan)
    assert (found["env.A"], found["env.B"], found["data_disk_gb"]) == (("1", None), (None, "2"), (10, 12))
    assert found["secrets"] == ([], ["HF_TOKEN"])
    assert calls(plan) == ["update", "access", "resize", "restart"]
    assert carol.json("ls") == [before] or carol.json("ls")[0]["locked"] is False
    carol.must("apply", "-f", file, "--yes")
    (after,) = carol.json("ls")
    assert (after["id"], after["data_disk_gb"], after["locked"]) == (before["id"], 12, True)
    assert after["launch"]["command"] == ["/bin/sh", "-c", "python train.py", "sh"]
    assert actions(carol.json("plan", "-f", file)) == {"box": "none"}

    spec["ports"] = [9000]  # UDP ports that a file does not change stay
    carol.must("apply", "-f", declare(("instance", "box", spec)), "--yes")
    assert actions(carol.json("plan", "-f", declare(("instance", "box", spec)))) == {"box": "none"}
    file = declare(("instance", "box", spec))

    renewed = carol.json("plan", "-f", file, "--renew-secrets")
    assert changed(renewed) == {"secrets": (["HF_TOKEN"], ["HF_TOKEN (sent again)"])}

    spec |= {"desired": "stopped", "locked": False}
    carol.must("apply", "-f", declare(("instance", "box", spec)), "--yes")
    carol.must("wait", "box", "--for", "stopped")
    spec |= {"desired": "running", "gpu_count": 2, "env": {}, "command": "", "secrets": {}}
    plan = carol.json("plan", "-f", declare(("instance", "box", spec)))
    assert calls(plan) == ["resize", "launch settings", "start"]
    carol.must("apply", "-f", declare(("instance", "box", spec)), "--yes")
    (last,) = carol.json("ls")
    assert (last["state"], last["gpu"]["count"], last["launch"]["env"]) == ("running", 2, {})
    assert (last["launch"]["command"], last["launch"]["secrets"]) == ([], [])


def test_another_way_to_write_the_same_is_no_drift(carol: Terminal, declare: Declare) -> None:
    schedule = {"weekly": [{"action": "stop", "days": ["fri", "mon", "fri"], "time": "18:00"}], "time_zone": "UTC"}
    spec = {
        "filter": "4090",
        "allow_from": ["192.0.2.7", " 10.0.0.0/8", "10.0.0.0/8", "2001:DB8::/32"],
        "ports": [8000, 8000],
        "schedule": schedule,
        "on_start": "echo a\r\necho b\r\n",
        "command": "python \\\r\n  serve.py\r\n",
        "args": "--name 'of a model'",
        "readiness": {"port": 8000, "path": "/ok"},
    }
    launch = {"on_start": "echo a\r\n", "entrypoint": "tini --", "readiness": {"port": 8000}}
    described = {"title": " Cafe\u0301 ", "description": "two words ", "image": "berth-base", "launch": launch}
    file = declare(("instance", "same", spec), ("template", "same", described))
    carol.must("apply", "-f", file, "--yes")
    shown = carol.must("plan", "-f", file)
    assert "Nothing to do." in shown, shown
    spec |= {"schedule": {"weekly": [], "time_zone": "UTC"}, "on_start": " \r\n"}
    file = declare(("instance", "same", spec))
    assert set(changed(carol.json("plan", "-f", file))) == {"schedule", "on_start"}
    carol.must("apply", "-f", file, "--yes")
    assert "Nothing to do." in carol.must("plan", "-f", file)


def test_no_key_is_not_every_key(carol: Terminal, declare: Declare) -> None:
    carol.must("apply", "-f", declare(("instance", "closed", {"filter": "4090"})), "--yes")
    file = declare(("instance", "closed", {"filter": "4090", "ssh_key_ids": []}))
    assert changed(carol.json("plan", "-f", file)) == {"ssh_key_ids": ("all of the account", [])}
    assert "ssh_key_ids: all of the account -> (none)" in carol.must("plan", "-f", file)
    carol.must("apply", "-f", file, "--yes")
    assert carol.run("plan", "-f", file, "--exit-code").returncode == 0
    file = declare(("instance", "closed", {"filter": "4090", "ssh_key_ids": None}))
    assert changed(carol.json("plan", "-f", file)) == {"ssh_key_ids": ([], "all of the account")}


def test_drift_is_shown_and_put_right(carol: Terminal, declare: Declare) -> None:
    file = declare(("instance", "drifter", {"filter": "4090", "env": {"A": "1"}, "desired": "running", "locked": True}))
    carol.must("apply", "-f", file, "--yes")
    own = carol.json("ls")[0]["id"]
    carol.must("api", "PATCH", f"/instances/{own}", "-f", "locked=false")
    carol.must("stop", "drifter", "--wait")
    carol.must("api", "PATCH", f"/instances/{own}/launch", "-f", 'env={"A": "9"}')
    plan = carol.json("plan", "-f", file)
    assert changed(plan) == {"locked": (False, True), "env.A": ("9", "1"), "desired": ("stopped", "running")}
    carol.must("apply", "-f", file, "--yes")
    assert carol.json("show", "drifter")["state"] == "running"
    assert carol.run("plan", "-f", file, "--exit-code").returncode == 0
    carol.must("api", "PATCH", f"/instances/{own}", "-f", "locked=false")


def test_data_is_only_lost_when_its_name_is_typed(carol: Terminal, declare: Declare) -> None:
    carol.must("apply", "-f", declare(("instance", "disk", {"filter": "4090", "data_disk_gb": 20})), "--yes")
    (before,) = carol.json("ls")
    file = declare(("instance", "disk", {"filter": "4090", "data_disk_gb": 10}))
    shown = carol.run("plan", "-f", file)
    assert "! instance disk: replace" in shown.stdout
    assert "This deletes everything on instance disk outside its volumes." in shown.stdout
    refused = carol.run("apply", "-f", file, "--yes")
    assert (refused.returncode, "--replace disk" in refused.stderr) == (2, True), refused.stderr
    assert carol.run("apply", "-f", file, "--yes", "--replace", "other").returncode == 2
    assert carol.json("ls")[0]["id"] == before["id"]
    carol.must("apply", "-f", file, "--yes", "--replace", "disk")
    (after,) = carol.json("ls")
    assert (after["name"], after["data_disk_gb"], after["id"] != before["id"]) == ("disk", 10, True)


def test_what_the_files_do_not_name_is_left_alone(carol: Terminal, declare: Declare) -> None:
    carol.must("rent", "4090", "--yes", "--name", "mine", "--no-wait")
    file = declare(("instance", "named", {"filter": "4090"}))
    carol.must("apply", "-f", file, "--yes", "--no-wait")
    carol.must("destroy", "-f", file, "--yes")
    assert [each["name"] for each in carol.json("ls")] == ["mine"]


def test_a_name_of_several_is_refused(carol: Terminal, declare: Declare) -> None:
    for _ in range(2):
        carol.must("rent", "4090", "--yes", "--name", "twin", "--no-wait")
    for verb in ("plan", "apply", "destroy"):
        done = carol.run(verb, "-f", declare(("instance", "twin", {"filter": "4090"})))
        assert (done.returncode, "There are several of instance twin" in done.stderr) == (5, True)
    assert len(carol.json("ls")) == 2


def test_a_template_is_changed_and_what_runs_it_follows(carol: Terminal, declare: Declare) -> None:
    template: dict[str, Any] = {"image": "berth-base", "launch": {"env": {"MODE": "slow"}}, "readme": "# One"}
    box = ("instance", "worker", {"filter": "4090", "launch_template": "follow"})
    carol.must("apply", "-f", declare(("template", "follow", template), box), "--yes")
    template |= {"launch": {"env": {"MODE": "fast"}}, "description": "Quicker"}
    file = declare(("template", "follow", template), box)
    plan = carol.json("plan", "-f", file)
    assert changed(plan)["launch.env"] == ({"MODE": "slow"}, {"MODE": "fast"})
    assert calls(plan) == ["new version", "update"]
    carol.must("apply", "-f", file, "--yes")
    assert carol.json("show", "worker")["launch"]["env"] == {"MODE": "fast"}
    assert carol.run("plan", "-f", file, "--exit-code").returncode == 0


def test_offers_are_searched_by_what_the_file_has_and_not_its_template(carol: Terminal, declare: Declare) -> None:
    template = ("template", "roomy", {"image": "berth-base", "filter": "4090", "data_disk_gb": 100_000})
    assert carol.run("plan", "-f", declare(template, ("instance", "small", {"launch_template": "roomy"}))).returncode == 4
    file = declare(template, ("instance", "small", {"launch_template": "roomy", "data_disk_gb": 1}))
    assert actions(carol.json("plan", "-f", file)) == {"roomy": "create", "small": "create"}


def test_what_a_template_s_file_leaves_out_stays(carol: Terminal, declare: Declare) -> None:
    launch = {"env": {"A": "1"}, "secrets": ["HF_TOKEN"], "command": ["serve"], "shm_mb": 64, "readiness": {"port": 80}}
    whole = {"launch": launch, "filter": "4090", "min_vram_gb": 8, "data_disk_gb": 3, "ports": [{"port": 80}], "readme": "x"}
    carol.must("apply", "-f", declare(("template", "kept", {"image": "berth-base", **whole})), "--yes")
    before = carol.json("template", "show", "kept")["version"]
    assert actions(carol.json("plan", "-f", declare(("template", "kept", {"image": "berth-base"})))) == {"kept": "none"}

    file = declare(("template", "kept", {"image": "berth-base", "launch": {"env": {"A": "2"}}}))
    assert changed(carol.json("plan", "-f", file)) == {"launch.env": ({"A": "1"}, {"A": "2"})}
    carol.must("apply", "-f", file, "--yes")
    after = carol.json("template", "show", "kept")["version"]
    same = {"filter", "min_vram_gb", "data_disk_gb", "ports", "readme", "inputs"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert after["launch"] == {**before["launch"], "env": {"A": "2"}}

    nothing: dict[str, Any] = {"secrets": [], "command": [], "shm_mb": None, "readiness": None}
    cleared: dict[str, Any] = {
        "launch": nothing,
        "filter": "",
        "min_vram_gb": None,
        "data_disk_gb": None,
        "ports": [],
        "readme": "",
    }
    file = declare(("template", "kept", {"image": "berth-base", **cleared}))
    assert "inputs" in changed(carol.json("plan", "-f", file))
    carol.must("apply", "-f", file, "--yes")
    last = carol.json("template", "show", "kept")["version"]
    assert (last["min_vram_gb"], last["data_disk_gb"], last["filter"], last["inputs"]) == (None, None, "", [])
    assert (last["launch"]["env"], last["launch"]["readiness"], last["launch"]["shm_mb"]) == ({"A": "2"}, None, None)
    assert carol.run("plan", "-f", file, "--exit-code").returncode == 0


def test_volumes_grow_and_do_not_shrink_unasked(carol: Terminal, declare: Declare) -> None:
    (host,) = carol.json("volume", "hosts")
    carol.must("apply", "-f", declare(("volume", "store", {"size_gb": 1, "host": host["name"]})), "--yes")
    carol.must("apply", "-f", declare(("volume", "store", {"size_gb": 3})), "--yes")
    (grown,) = carol.json("volume", "ls")
    assert (grown["growth"] or grown)["size_gb"] == 3
    file = declare(("volume", "store", {"size_gb": 1}))
    assert carol.run("apply", "-f", file, "--yes").returncode == 2
    assert carol.json("plan", "-f", file)[0]["loses"] == "everything on volume store"
    lonely = carol.run("plan", "-f", declare(("volume", "lonely", {"size_gb": 1})))
    assert (lonely.returncode, "say host" in lonely.stderr) == (2, True)


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({}, 2, "say offer or filter"),
        ({"filter": "price<0.0001"}, 4, "no offer matches"),
        ({"filter": "4090", "max_hourly_rate": "0.01"}, 6, "more than its max_hourly_rate 0.01"),
        ({"filter": "prise<1"}, 5, "Did you mean price?"),
        ({"filter": "4090", "volume_ids": ["nowhere"]}, 4, "there is no volume 'nowhere'"),
        ({"filter": "4090", "launch_template": "nowhere"}, 4, "there is no template 'nowhere'"),
        ({"filter": "4090", "secrets": {"X": "${env:NOT_SET}"}}, 2, "NOT_SET isn't set in the environment"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_can_not_be_planned(carol: Terminal, declare: Declare, spec: dict[str, Any], code: int, message: str) -> None:
    done = carol.run("apply", "-f", declare(("instance", "wrong", spec)), "--yes")
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert message in done.stderr
    assert carol.json("ls") == []


def test_a_secret_input_is_no_literal(carol: Terminal, declare: Declare) -> None:
    template = ("template", "secretive", {"image": "berth-base", "launch": {"secrets": ["HF_TOKEN"]}})
    carol.must("apply", "-f", declare(template), "--yes")
    box = ("instance", "leaky", {"filter": "4090", "launch_template": "secretive", "inputs": {"HF_TOKEN": "hunter2"}})
    for documents in ((box,), (template, box)):
        done = carol.run("apply", "-f", declare(*documents), "--yes")
        assert (done.returncode, "hunter2" in done.stderr) == (2, False), done.stderr


def test_plans_in_every_format(carol: Terminal, declare: Declare) -> None:
    file = declare(("instance", "formats", {"filter": "4090"}))
    assert carol.must("plan", "-f", file, "--output", "name") == "instance/formats\n"
    assert "\x1b" not in carol.must("plan", "-f", file)
    assert carol.json("apply", "-f", file, "--dry-run") == carol.json("plan", "-f", file)
    text = Path(file).read_text()
    assert re.search("create", carol.run("plan", "-f", "-", text=text).stdout)
