"""`berth apply` killed before and after each request that changes something: the next run finishes without renting twice."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.clients.bad_network import Network, bad_network
from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

FILES = [
    {"kind": "template", "name": "cut", "spec": {"image": "berth-base", "launch": {"env": {"A": "1"}}}},
    {"kind": "volume", "name": "kept", "spec": {"size_gb": 1}},
    {
        "kind": "instance",
        "name": "once",
        "spec": {"filter": "4090", "launch_template": "cut", "volume_ids": ["kept"], "locked": False, "ports": [8000]},
    },
]
REQUESTS = {
    "the template": "/api/v1/launch-templates",
    "the volume": "/api/v1/volumes",
    "the quote": "/api/v1/quotes",
    "the order": "/api/v1/instances",
}
STATES = ("requested", "provisioning", "starting", "running", "stopping", "stopped", "failed", "releasing", "gone")
EVERY_STATE = [word for state in STATES for word in ("-q", f"state={state}")]


@pytest.fixture
def network(market: Stack) -> Iterator[Network]:
    with bad_network(market.url) as running:
        yield running


@pytest.fixture
def dave(network: Network, newcomers: Iterator[str], tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, network.url, next(newcomers))
    (tmp_path / "files.json").write_text(json.dumps(FILES))
    yield terminal
    network.before = network.after = lambda method, path: None
    terminal.must("destroy", "-f", str(tmp_path / "files.json"), "--yes")
    assert terminal.json("ls") == []


def ever_rented(terminal: Terminal) -> list[dict[str, Any]]:
    return list(json.loads(terminal.must("api", "GET", "/instances", *EVERY_STATE))["results"])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", REQUESTS)
def test_a_run_that_is_killed_is_run_again(dave: Terminal, network: Network, what: str, when: str) -> None:
    words = ("apply", "-f", str(dave.home / "files.json"), "--yes")
    line = [*dave.program, *words]
    killed: list[str] = []
    process: list[subprocess.Popen[bytes]] = []

    def kill(method: str, path: str) -> None:
        if method == "POST" and path == REQUESTS[what] and not killed:
            killed.append(path)
            process[0].kill()
            process[0].wait(30)
            if when == "before":
                raise OSError

    process.append(subprocess.Popen(line, env=dave.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    setattr(network, when, kill)
    assert process[0].wait(120) == -9
    assert killed == [REQUESTS[what]]

    dave.must(*words)
    (instance,) = ever_rented(dave)
    assert (instance["name"], instance["state"], instance["launch"]["env"]) == ("once", "running", {"A": "1"})
    (volume,) = dave.json("volume", "ls")
    assert volume["attached_to"] == instance["id"]
    assert dave.run("plan", "-f", words[2], "--exit-code").returncode == 0


def test_two_runs_at_once_rent_one(dave: Terminal, network: Network) -> None:
    words = ("apply", "-f", str(dave.home / "files.json"), "--yes")
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda _: dave.run(*words), range(2)))
    assert 0 in [each.returncode for each in runs], [each.stderr for each in runs]
    dave.must(*words)
    assert len(ever_rented(dave)) == 1


def test_what_was_rented_is_told_although_the_wait_for_it_is_cut_off(dave: Terminal, network: Network) -> None:
    def lose_waits(method: str, path: str) -> None:
        if method == "GET" and path.startswith("/api/v1/instances/inst_"):
            raise OSError

    network.before = lose_waits
    done = dave.run("apply", "-f", str(dave.home / "files.json"), "--yes", "--json")
    network.before = lambda method, path: None
    assert done.returncode == 7, done.stderr
    (instance,) = ever_rented(dave)
    made = {each["name"]: each["id"] for each in json.loads(done.stdout)}
    assert (made["once"], set(made)) == (instance["id"], {"cut", "kept", "once"})
    assert json.loads(done.stderr.splitlines()[-1])["error"]["exit_code"] == 7


def test_what_was_released_is_rented_again(dave: Terminal) -> None:
    """The key of an order is that of one life of a name."""
    words = ("apply", "-f", str(dave.home / "files.json"), "--yes")
    dave.must(*words)
    dave.must("rm", "once", "--yes", "--wait")
    dave.must(*words)
    dave.must("rename", "once", "other")
    dave.must("volume", "ls")
    refused = dave.run(*words)
    assert refused.returncode == 5, refused.stderr  # its volume is in use by what was renamed
    dave.must("rm", "other", "--yes", "--wait")
    dave.must(*words)
    assert [each["name"] for each in ever_rented(dave)].count("once") == 2
