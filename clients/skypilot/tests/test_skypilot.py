"""SkyPilot's own code against a running market: as it is published, and with the patch and the catalogue of this folder."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from clients.skypilot.tests.server import INSTALL, Server, SkyPilot
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

CATALOGUE = INSTALL.parent / "catalog.py"
WEB = "echo hello > /root/kept; cd /root; (setsid python3 -m http.server 8080 >/dev/null 2>&1 &)"


@pytest.fixture
def plain(tmp_path: Path, published: SkyPilot, market: Stack, token: str) -> Server:
    return Server(tmp_path, published, market, token)


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory, patched: SkyPilot, market: Stack, token: str) -> Path:
    """Written by our program where SkyPilot reads it."""
    made = Server(tmp_path_factory.mktemp("catalogue"), patched, market, token)
    made.run(CATALOGUE)
    return made.catalogues / "vast" / "vms.csv"


@pytest.fixture
def changed(tmp_path: Path, patched: SkyPilot, market: Stack, token: str, catalogue: Path) -> Server:
    made = Server(tmp_path, patched, market, token)
    (made.catalogues / "vast").mkdir()
    shutil.copyfile(catalogue, made.catalogues / "vast" / "vms.csv")
    return made


def gone(market: Stack) -> None:
    with market.client("bob") as bob:
        wait_until("no instance", lambda: bob.get("/api/v1/instances").json()["results"] == [], timeout=120)


def test_the_published_one_makes_a_catalogue(plain: Server) -> None:
    rows = plain.fetch()
    assert {row["InstanceType"] for row in rows} == {"1x-RTX_4090-32-65536", "2x-RTX_4090-32-65536"}
    for row in rows:
        assert (row["AcceleratorName"], row["Region"], row["MemoryGiB"]) == ("RTX4090", "Hangzhou, CN, AS", "64.0")
        assert row["Price"] in ("1.00", "2.00", "3.60", "7.20")
        assert row["SpotPrice"] == "0.00"  # the SDK has rounded it


def test_the_published_one_launches_and_runs_a_command(plain: Server) -> None:
    plain.fetch()
    wanted = {"accelerators": "RTX4090:1", "image_id": "docker:berth-test"}
    done = plain.program("launch", "first", json.dumps(wanted), "echo hello > /root/kept; hostname; echo $__SOURCE")
    ((code, said),) = done["said"]
    assert (code, said.splitlines()[-1]) == (0, "skypilot")
    assert len(done["files"]) == 3  # configuration, key, the folder for a wheel
    assert done["again"] == [done["head"], [[0, "hello\n"]]]
    gone(plain.market)


def test_the_published_one_sends_no_conditions(plain: Server) -> None:
    """Its fault, not the market's: the best offer of any kind is rented (skypilot#9733)."""
    (found,) = plain.program("rent", "any-head", json.dumps([["8x-H200-32-65536", "Seoul, KR, AS"]]), "")
    assert (found["num_gpus"], found["gpu_name"], found["geolocation"]) == (1, "RTX 4090", "Hangzhou, CN")
    gone(plain.market)


def test_the_catalogue_has_slices_of_each_size_and_spot_prices(changed: Server) -> None:
    rows = {row["InstanceType"]: row for row in changed.rows()}
    assert set(rows) >= {"1x-RTX_4090-2-5760", "4x-RTX_4090-8-23040", "1x-RTX_4090-16-61440", "2x-RTX_4090-32-122880"}
    one = rows["1x-RTX_4090-2-5760"]
    assert (one["Price"], one["SpotPrice"], one["Region"], one["vCPUs"]) == ("1.0000", "0.5000", "CN", "2.0")
    assert rows["2x-RTX_4090-32-122880"]["SpotPrice"] == ""
    assert one["GpuInfo"].startswith("{'Gpus': [{'Name': 'RTX4090', 'Count': 1,")


def test_the_patched_one_launches_and_opens_a_port(changed: Server) -> None:
    wanted = {"accelerators": "RTX4090:1", "image_id": "docker:berth-test", "ports": 8080}
    words = (WEB, "echo $VAST_URL", "nvidia-smi -L || true", "exit 3")
    done = changed.program("launch", "second", json.dumps(wanted), *words)
    assert done["plan"] == {"type": "1x-RTX_4090-2-5760", "region": "CN", "price": 1.0}
    assert done["created"] == [done["head"]]
    assert [code for code, _ in done["said"]] == [0, 0, 0, 3]
    assert done["said"][1][1] == changed.market.url + "\n"
    assert "kept" in done["web"]["8080"]
    assert done["again"] == [done["head"], [[0, "hello\n"]]]
    gone(changed.market)


def test_the_patched_one_rents_what_was_asked_for(changed: Server) -> None:
    kinds = [
        ("2x-RTX_4090-4-100000", "CN"),  # the large host has less memory
        ("1x-RTX_4090-10-1000", "CN"),  # and fewer cores
        ("1x-RTX_4090-1-1000", "KR"),
        ("1x-H200-1-1000", "CN"),
    ]
    two, cores, elsewhere, other = changed.program("rent", "two-head", json.dumps(kinds), "")
    assert (two["num_gpus"], two["cpu_cores"], two["is_bid"], two["dph_base"]) == (2, 32, False, 7.2)
    assert (cores["num_gpus"], cores["dph_base"], elsewhere, other) == (1, 3.6, None, None)
    gone(changed.market)


def test_the_patched_one_bids(changed: Server) -> None:
    kinds = [("1x-RTX_4090-1-1000", "CN"), ("1x-RTX_4090-10-1000", "CN")]
    found, unsold = changed.program("rent", "spot-head", json.dumps(kinds), "spot")
    assert (found["num_gpus"], found["is_bid"], found["dph_base"], unsold) == (1, True, 0.5, None)
    gone(changed.market)


def test_the_patched_one_rents_once_when_a_launch_is_repeated(changed: Server) -> None:
    done = changed.program("repeat", "fourth", "1x-RTX_4090-2-5760", "CN")
    assert (done["head"], done["created"], done["there"]) == (done["first"], [], [done["first"]])
    gone(changed.market)


def test_the_patched_one_ends_a_launch_that_fails(changed: Server) -> None:
    """The published one waits for ever for an instance that has failed."""
    wanted = {"instance_type": "1x-RTX_4090-2-5760", "image_id": "docker:nowhere"}
    done = changed.program("fail", "third", json.dumps(wanted))
    assert (done["left"], "is exited: " in done["log"]) == ([], True)
    gone(changed.market)


def test_the_patch_is_for_one_version(tmp_path: Path) -> None:
    subprocess.run(["python3", "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = tmp_path / "bare" / "bin" / "python"
    done = subprocess.run([bare, INSTALL], capture_output=True, text=True, check=False)
    assert (done.returncode, "isn't installed here" in done.stderr) == (1, True)
    (site,) = (tmp_path / "bare").glob("lib/python3*/site-packages")
    (site / "skypilot-9.0.dist-info").mkdir()
    (site / "skypilot-9.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: skypilot\nVersion: 9.0\n")
    done = subprocess.run([bare, INSTALL], capture_output=True, text=True, check=False)
    assert (done.returncode, "Nothing was changed" in done.stderr) == (1, True)
