"""The unmodified `vastai` CLI and its SDK against a market with real containers: a life from the search to the end."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import engine, image, ssh_key  # noqa: F401 fixtures
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.stack.test_self_test import run_self_test
from tests.vast.terminal import BIN, VastTerminal, installed
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


# What each test has to have run, with success, when it ends.
DRIVEN = {
    "test_tables_of_offers": ("search offers",),
    "test_the_user": ("show user",),
    "test_the_box_is_reached": ("show instance", "ssh-url", "scp-url"),
    "test_lists": ("show instances",),
    "test_label_stop_start_reboot": (
        *("label instance", "reboot instance", "stop instance", "start instance", "stop instances", "start instances"),
    ),
    "test_launch_and_several": ("launch instance", "create instances", "destroy instances", "destroy instance"),
    "test_update_and_recycle": ("update instance", "recycle instance"),
    "test_logs": ("logs",),
    "test_a_copy_is_answered_with_the_line_that_makes_it": ("show connections", "cancel copy"),
    "test_keys": ("attach ssh", "show ssh-keys", "detach ssh", "delete ssh-key"),
    "test_variables": ("create env-var", "update env-var", "show env-vars", "delete env-var"),
    "test_templates": ("create template", "search templates", "update template", "delete template"),
    "test_volumes": ("search volumes", "create volume", "show volumes", "delete volume"),
    "test_money": ("show invoices", "show invoices-v1"),
    "test_a_host_owner_and_a_bid": (
        *("show machines", "show machine", "list machine", "set min-bid", "unlist machine", "create instance", "change bid"),
    ),
}


@pytest.fixture(autouse=True)
def driven(request: pytest.FixtureRequest) -> Iterator[None]:
    before = len(VastTerminal.driven)
    yield
    missing = set(DRIVEN.get(request.node.name, ())) - set(VastTerminal.driven[before:])
    assert not missing, f"never run: {sorted(missing)}"


@pytest.fixture(scope="module")
def market(services: None, engine: Any, image: str) -> Iterator[Stack]:  # noqa: F811 fixtures
    installed()
    stack = Stack(open_folder())
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "berth-test", image)
        listen = ("--ports", "28000-28999", "--listen", "127.0.0.1")
        stack.enrol("real", "--runtime", "docker", "--simulate-gpus", "RTX 4090:2", *listen, region="cn-hangzhou")
        with stack.client("alice") as alice, stack.client("hana") as hana:
            renting.offer_of(alice, "real")
            test, _host = run_self_test(hana, "real")
            assert test["verdict"] == "passed", test["checks"]
        yield stack
    finally:
        stack.stop()


@pytest.fixture(scope="module")
def bob(market: Stack, tmp_path_factory: pytest.TempPathFactory) -> VastTerminal:
    return VastTerminal(tmp_path_factory.mktemp("bob"), market.url, market.people["bob"]["token"])


def status(terminal: VastTerminal, number: int) -> str:
    return str(terminal.raw("show instance", str(number))["actual_status"])


def until(terminal: VastTerminal, number: int, wanted: str) -> None:
    wait_until(f"instance {number} to be {wanted}", lambda: status(terminal, number) == wanted, timeout=120, pause=0.5)


def ssh(terminal: VastTerminal, url: str, key: Path, command: str) -> str:
    host, _, port = url.strip().removeprefix("ssh://root@").partition(":")
    options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes"]
    line = ["ssh", *options, "-i", str(key), "-p", port, f"root@{host}", command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


@pytest.fixture(scope="module")
def key_number(bob: VastTerminal, ssh_key: Path) -> int:  # noqa: F811 fixture
    bob.must("create ssh-key", ssh_key.with_suffix(".pub").read_text().strip())
    (row,) = bob.raw("show ssh-keys")
    return int(row["id"])


@pytest.fixture(scope="module")
def box(bob: VastTerminal, key_number: int) -> Iterator[int]:
    (offer,) = bob.raw("search offers", "num_gpus=1 gpu_name=RTX_4090 geolocation in [CN,US]", "-o", "dph_total")
    made = bob.raw(
        *("create instance", str(offer["id"]), "--image", "berth-test", "--disk", "1", "--label", "box", "--ssh"),
        *("--env", "-e COLOUR=blue -p 8123:8123", "--onstart-cmd", "echo started > /root/started"),
    )
    until(bob, made["new_contract"], "running")
    yield made["new_contract"]
    bob.must("destroy instance", str(made["new_contract"]), "--yes")
    assert bob.raw("show instances") == []


def test_tables_of_offers(bob: VastTerminal) -> None:
    table = bob.must("search offers", "verified=any num_gpus>=1", "-o", "num_gpus-", "--limit", "5")
    assert "RTX_4090" in table or "RTX 4090" in table
    assert bob.raw("search offers", "gpu_name=H200") == []
    (offer,) = bob.raw("search offers", "num_gpus=2")
    assert (offer["num_gpus"], offer["dph_base"], offer["geolocation"]) == (2, 7.2, "Hangzhou, CN")
    assert bob.refused("search offers", "gpu_nam=H200")["status_code"] == 400


def test_the_user(bob: VastTerminal) -> None:
    user = bob.raw("show user")
    assert (user["email"], user["credit"] > 900) == ("bob@example.com", True)


def test_the_box_is_reached(bob: VastTerminal, box: int, ssh_key: Path) -> None:  # noqa: F811 fixture
    row = bob.raw("show instance", str(box))
    assert (row["label"], row["num_gpus"], row["gpu_name"], row["dph_total"]) == ("box", 1, "RTX 4090", 3.6)
    assert "8123/tcp" in row["ports"]
    url = bob.must("ssh-url", str(box))
    assert bob.must("scp-url", str(box)) == url.replace("ssh://", "scp://")
    wait_until("SSH", lambda: ssh(bob, url, ssh_key, "echo $COLOUR") == "blue\n", timeout=60)
    wait_until("the start script", lambda: ssh(bob, url, ssh_key, "cat /root/started") == "started\n", timeout=30)


def test_lists(bob: VastTerminal, box: int) -> None:
    assert [row["id"] for row in bob.raw("show instances", "--status", "running")] == [box]
    assert bob.raw("show instances", "--label", "other") == []
    assert str(box) in bob.must("show instances")


def test_label_stop_start_reboot(bob: VastTerminal, box: int) -> None:
    assert f"label for {box} set to trained" in bob.must("label instance", str(box), "trained")
    assert bob.raw("show instance", str(box))["label"] == "trained"
    assert "Rebooting" in bob.must("reboot instance", str(box))
    until(bob, box, "running")
    assert "stopping" in bob.must("stop instance", str(box))
    until(bob, box, "exited")
    assert "starting" in bob.must("start instance", str(box))
    until(bob, box, "running")
    assert "stopping" in bob.must("stop instances", str(box))
    until(bob, box, "exited")
    assert "starting" in bob.must("start instances", str(box))
    until(bob, box, "running")


def test_launch_and_several(bob: VastTerminal, box: int) -> None:
    words = ("-g", "RTX_4090", "-n", "1", "-i", "berth-test", "-d", "1", "--label", "second")
    made = bob.must("launch instance", *words)
    assert "Instance launched successfully" in made
    (second,) = bob.raw("show instances", "--label", "second")
    bob.must("destroy instances", str(second["id"]), "--yes")
    wait_until("a free GPU", lambda: bob.raw("search offers", "num_gpus=1"), timeout=120, pause=0.5)
    (offer,) = bob.raw("search offers", "num_gpus=1")
    assert "new_contracts" in bob.must(
        "create instances", str(offer["id"]), "--image", "berth-test", "--disk", "1", "--label", "third"
    )
    (third,) = bob.raw("show instances", "--label", "third")
    until(bob, third["id"], "running")
    bob.must("destroy instance", str(third["id"]), "--yes")


def test_errors_are_read_by_the_client(bob: VastTerminal, box: int) -> None:
    output = bob.refused("create instance", "5", "--image", "berth-test")
    assert (output["status_code"], "Search again" in output["msg"]) == (404, True)
    signed_out = VastTerminal(bob.home, bob.url, "no-such-token")
    assert signed_out.refused("show user")["status_code"] == 401
    assert bob.refused("take snapshot", str(box), "--repo", "a/b")["status_code"] == 501


def test_update_and_recycle(bob: VastTerminal, box: int) -> None:
    assert "updated successfully" in bob.must("update instance", str(box), "--env", '{"COLOUR": "red"}')
    until(bob, box, "running")
    assert ["COLOUR", "red"] in [[name, value] for name, value in bob.raw("show instance", str(box))["extra_env"].items()]
    assert "Recycling" in bob.must("recycle instance", str(box))
    until(bob, box, "running")


def test_logs(bob: VastTerminal, box: int, ssh_key: Path) -> None:  # noqa: F811 fixture
    url = bob.must("ssh-url", str(box))
    wait_until("SSH", lambda: ssh(bob, url, ssh_key, "echo one-line > /proc/1/fd/1; echo ok") == "ok\n", timeout=60)
    wait_until("the line", lambda: "one-line" in bob.must("logs", str(box), "--tail", "50"), timeout=60)
    assert "one-line" in bob.must("logs", str(box), "--filter", "one-l")


def test_a_copy_is_answered_with_the_line_that_makes_it(
    bob: VastTerminal,
    box: int,
    ssh_key: Path,  # noqa: F811 fixture
    tmp_path: Path,
) -> None:
    assert bob.raw("show connections") == []
    (tmp_path / "notes").write_text("from here\n")
    for src, dst in ((f"local:{tmp_path}/notes", f"C.{box}:/root/copied"), (f"{box}:/root/copied", f"{tmp_path}/back")):
        output = bob.refused("copy", src, dst)
        assert output["status_code"] == 501
        found = re.search(r"Type: scp (.*) \(or", output["msg"])
        assert found, output["msg"]
        options = ["-i", str(ssh_key), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        subprocess.run(["scp", "-q", *options, *shlex.split(found[1])], check=True, timeout=60)
    assert (tmp_path / "back").read_text() == "from here\n"
    assert "canceled" in bob.must("cancel copy", str(box))


def test_execute(bob: VastTerminal, box: int) -> None:
    """By the SDK: the command of 1.9.1 fails after the command has run, since it takes the text for an object."""
    code = f"from vastai import VastAI\nprint(VastAI().execute(id={box}, command='echo $((6 * 7)); ls /nowhere'), end='')"
    line = [str(BIN / "python"), "-c", code]
    done = subprocess.run(line, env=bob.env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "42\nls: cannot access '/nowhere': No such file or directory\n", done.stderr


def test_keys(bob: VastTerminal, box: int, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    line = other.with_suffix(".pub").read_text().strip()
    bob.must("attach ssh", str(box), line)
    rows = bob.raw("show ssh-keys")
    (added,) = [row["id"] for row in rows if line.startswith(row["key"])]
    bob.must("detach ssh", str(box), str(added))
    bob.must("delete ssh-key", str(added))
    assert len(bob.raw("show ssh-keys")) == len(rows) - 1


def test_variables(bob: VastTerminal) -> None:
    assert "created" in bob.must("create env-var", "TOKEN_OF_MINE", "secret-value")
    assert "updated" in bob.must("update env-var", "TOKEN_OF_MINE", "other-value")
    shown = bob.must("show env-vars", "--show-values")
    assert "TOKEN_OF_MINE" in shown and "other-value" not in shown
    assert "deleted" in bob.must("delete env-var", "TOKEN_OF_MINE")


def test_templates(bob: VastTerminal, market: Stack) -> None:
    words = (
        "--name",
        "Mine",
        "--image",
        "berth-test",
        "--env",
        "-e A=1",
        "--onstart-cmd",
        "echo hi",
        "--ssh",
        "--disk_space",
        "8",
    )
    assert "New Template" in bob.must("create template", *words)
    (row,) = json.loads(bob.must("search templates", "name=Mine"))
    changed = bob.must("update template", row["hash_id"], *words, "--desc", "Changed")
    assert row["hash_id"] not in changed or "hash_id" in changed
    (row,) = json.loads(bob.must("search templates", "name=Mine"))
    assert row["desc"] == "Changed"
    bob.must("delete template", "--hash-id", row["hash_id"])
    assert json.loads(bob.must("search templates", "name=Mine")) == []


def test_volumes(bob: VastTerminal) -> None:
    (place,) = bob.raw("search volumes", "disk_space>=1")
    made = bob.raw("create volume", str(place["id"]), "--size", "1", "--name", "work")
    assert made["volume_name"] == "work"
    wait_until("the volume", lambda: bob.raw("show volumes")[0]["status"] == "ready", timeout=60)
    assert "work" in bob.must("show volumes")
    output = bob.refused("clone volume", str(made["new_contract"]), str(place["id"]))
    assert (output["status_code"], "another one" in output["msg"]) == (400, True)
    bob.must("delete volume", str(made["new_contract"]))
    wait_until("no volume", lambda: bob.raw("show volumes") == [], timeout=60)


def test_money(bob: VastTerminal) -> None:
    rows = bob.raw("show invoices")
    assert [row["amount"] for row in rows if row["type"] == "payment"] == [1000.0]
    assert bob.raw("show invoices-v1", "--invoices")["results"]
    assert "results" in bob.raw("show invoices-v1", "--charges")


def test_a_host_owner_and_a_bid(bob: VastTerminal, market: Stack, tmp_path: Path) -> None:
    hana = VastTerminal(tmp_path, market.url, market.people["hana"]["token"])
    (machine,) = hana.raw("show machines")["machines"]
    number = str(machine["id"])
    hana.must("list machine", number, "--price_gpu", "3.6", "--price_min_bid", "1.0", "--price_disk", "0.1")
    assert "changed" in hana.must("set min-bid", number, "--price", "1.2")
    assert hana.raw("show machine", number)[0]["min_bid_price"] == 1.2
    (offer,) = bob.raw("search offers", "num_gpus=1", "--type", "bid")
    made = bob.raw("create instance", str(offer["id"]), "--image", "berth-test", "--disk", "1", "--bid_price", "1.3")
    until(bob, made["new_contract"], "running")
    assert "changed" in bob.must("change bid", str(made["new_contract"]), "--price", "1.5")
    bob.must("destroy instance", str(made["new_contract"]), "--yes")
    assert "delisted" in hana.must("unlist machine", number)
    hana.must("list machine", number, "--price_gpu", "3.6")


def test_the_sdk_lives_a_life(market: Stack, bob: VastTerminal) -> None:
    code = (
        "from vastai import VastAI\n"
        "sdk = VastAI()\n"
        "(offer,) = sdk.search_offers(query='num_gpus=1 gpu_name=RTX_4090', limit=1)\n"
        "made = sdk.create_instance(id=offer['id'], image='berth-test', disk=1, label='sdk', env={'A': '1'})\n"
        "row = sdk.show_instance(id=made['new_contract'])\n"
        "assert row['label'] == 'sdk' and row['extra_env'] == {'A': '1'}, row\n"
        "assert sdk.destroy_instance(id=made['new_contract'])['success'] is True\n"
        "print('whole')\n"
    )
    wait_until("a free GPU", lambda: bob.raw("search offers", "num_gpus=1"), timeout=120, pause=0.5)
    line = [str(BIN / "python"), "-c", code]
    done = subprocess.run(line, env=bob.env, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.endswith("whole\n"), done.stdout + done.stderr


def test_thirty_verbs_are_driven() -> None:
    """Each by the test that the table names, which fails unless the verb was run in it."""
    assert all(callable(globals().get(name)) for name in DRIVEN)
    assert len({verb for verbs in DRIVEN.values() for verb in verbs}) >= 30
