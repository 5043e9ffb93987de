"""The provider and the backend, in the real gpuhunt and dstack, against a running market."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stack.harness import Stack

Run = Callable[..., Any]
PROGRAM = Path(__file__).parent / "in_dstack.py"
INSTALL = PROGRAM.parent.parent / "install.py"


@pytest.fixture
def run(python: Path, tmp_path: Path) -> Run:
    def call(*words: str) -> Any:
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run([python, PROGRAM, *words], env=env, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)

    return call


@pytest.fixture
def public_key(tmp_path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    return (tmp_path / "key.pub").read_text().strip()


def test_offers_are_in_the_catalogue(market: Stack, run: Run) -> None:
    assert run("offers", market.url, "not simulated") == []
    found = run("offers", market.url, "")
    hourly = [each for each in found if not each["spot"]]
    assert [(each["gpu_count"], each["price"]) for each in hourly] == [(1, 3.6), (2, 7.2)]
    offer = market.client("alice").get("/api/v1/offers").json()["results"][0]
    one = hourly[0]
    assert (one["gpu_name"], one["gpu_memory"], one["location"]) == ("RTX4090", 24.0, "local")
    assert one["provider_data"] == {"offer": offer["id"], "gpu_count": 1, "billing_mode": "hourly"}
    assert one["memory"] == pytest.approx(offer["per_gpu"]["ram_gb"])


def test_a_job_is_rented_addressed_and_released(market: Stack, run: Run, public_key: str) -> None:
    alice = market.client("alice")
    done = run("job", market.url, market.people["alice"]["token"], "berth-base", public_key)
    data = done["data"]
    assert (data["username"], data["dockerized"], data["price"]) == ("root", False, done["price"])
    gone = alice.get(f"/api/v1/instances/{data['instance_id']}").json()
    assert (gone["state"], gone["gpu"]["count"]) == ("gone", 1)
    assert gone["name"].startswith("dstack-main-train")
    assert gone["launch"]["entrypoint"] == ["/bin/sh", "-c"]
    assert "--ssh-port 10022" in gone["launch"]["command"][0]
    assert public_key.split()[1] in gone["launch"]["command"][0]
    assert done["ssh"]["host"] == data["hostname"]
    assert data["ssh_port"] not in (None, done["ssh"]["port"])
    assert alice.get("/api/v1/instances").json()["results"] == []


def test_what_is_dear_or_gone_is_no_capacity_and_rents_nothing(market: Stack, run: Run, public_key: str) -> None:
    said = run("dear", market.url, market.people["alice"]["token"], public_key)
    assert said == ["NoCapacityError", "NoCapacityError"]
    assert market.client("alice").get("/api/v1/instances").json()["results"] == []


def test_a_wrong_token_is_named(market: Stack, run: Run) -> None:
    assert run("check", market.url, "berth_000000000000_" + "x" * 43) == {"fields": [["creds", "token"]]}
    assert run("check", market.url, market.people["alice"]["token"]) == {"fields": None}


def test_the_patch_refuses_where_dstack_is_not(tmp_path: Path) -> None:
    subprocess.run(["python3", "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    done = subprocess.run([tmp_path / "bare" / "bin" / "python", INSTALL], capture_output=True, text=True, check=False)
    assert (done.returncode, "isn't installed here" in done.stderr) == (1, True)
