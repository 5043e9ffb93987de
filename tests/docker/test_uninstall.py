"""Commands of a host's owner on an engine of their own: `uninstall`, `leftovers`, `self-test`. Refusals change nothing."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market
from tests.docker.conftest import ROOT
from tests.docker.second_engine import GATEWAY, SecondEngine, build_tiny_image

pytestmark = pytest.mark.docker
TINY: Final = "berth/tiny:test"


class Machine:
    """A machine of its own: an engine, a network with its firewall, and one agent's folder."""

    def __init__(self, there: SecondEngine, state: Path) -> None:
        self.there, self.state = there, state
        self._inside = ["nsenter", f"--net=/var/run/netns/{there.name}"]
        self._env = {**os.environ, "DOCKER_HOST": there.socket}

    def command(self, *words: str | Path) -> list[str]:
        return [*self._inside, sys.executable, "-m", "agents.daemon", *map(str, words), "--state-dir", str(self.state)]

    def must(self, *words: str | Path) -> str:
        code, output = self.say(*words)
        assert code == 0, output
        return output

    def say(self, *words: str | Path, typed: str = "") -> tuple[int, str]:
        line = self.command(*words)
        done = subprocess.run(
            line, cwd=ROOT, env=self._env, input=typed, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def agent(self) -> Iterator[None]:
        line = self.command("run", "--local-images")
        with subprocess.Popen(line, cwd=ROOT, env=self._env, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield
            finally:
                process.terminate()
                _, output = process.communicate(timeout=60)
        assert process.returncode == 0, output

    def looks(self) -> dict[str, Any]:
        """All that an agent could leave, asked without the agent."""
        with_engine = ["docker", "--host", self.there.socket]
        listed = {
            "containers": [*with_engine, "ps", "-aq"],
            "networks": [*with_engine, "network", "ls", "--format", "{{.Name}}"],
            "volumes": [*with_engine, "volume", "ls", "-q"],
            "images": [*with_engine, "images", "-aq"],
            "firewall": [*self._inside, "iptables", "-S"],
            "links": [*self._inside, "ip", "-o", "-br", "link", "show", "type", "bridge"],
            "loops": ["losetup", "-n", "-O", "BACK-FILE"],
        }
        found = {
            name: sorted(subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines())
            for name, line in listed.items()
        }
        found["loops"] = [line for line in found["loops"] if str(self.state) in line]
        # A bridge is up only while something is in it, so its state is no matter.
        found["links"] = [line.split()[0] for line in found["links"]]
        mounts = Path("/proc/mounts").read_text().splitlines()
        return {**found, "mounts": [line for line in mounts if str(self.state) in line], "folder": self.state.exists()}


@pytest.fixture(scope="module")
def there() -> Iterator[SecondEngine]:
    with SecondEngine() as engine:
        build_tiny_image(TINY, engine.socket)
        yield engine


@pytest.fixture
def market(there: SecondEngine) -> Iterator[Market]:
    with Market(GATEWAY.format(number=there.number).partition("/")[0]) as running:
        running.host_id = uuid.uuid4().hex
        yield running


@pytest.fixture
def machine(there: SecondEngine, market: Market, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(there, tmp_path / "agent")
    yield made
    if made.state.exists():
        made.say("uninstall", "--force")
        shutil.rmtree(made.state, ignore_errors=True)


def enrolled(machine: Machine, market: Market) -> None:
    machine.must(
        *("enrol", "--url", market.url, "--token", "join", "--simulate-gpus", "RTX 4090:2", "--sparse-disks"),
        *("--local-images", "--address", machine.there.address),
    )


def order_of(market: Market) -> DesiredInstance:
    assert market.facts is not None
    return DesiredInstance(
        id=uuid.uuid4().hex,
        generation=1,
        fence=1,
        run="running",
        image=TINY,
        gpu_uuids=[market.facts.gpus[0].uuid],
        simulated_gpus=True,
        cpu_millis=500,
        ram_mb=256,
        data_disk_gb=1,
        system_disk_gb=1,
        ports=[(22, 20022)],
        allow_from=["10.1.2.0/24"],
        has_ssh=False,
        stop_grace_s=1,
    )


def test_uninstall_leaves_nothing_and_takes_nothing_of_a_renter(machine: Machine, market: Market) -> None:
    before = machine.looks()
    enrolled(machine, market)
    with machine.agent():
        order = order_of(market)
        market.want(order)
        market.until_phase(order.id, "running", 1)
        code, output = machine.say("uninstall")
        assert (code, "stop it first" in output) == (1, True), output
    there = machine.looks()
    assert len(there["containers"]) == 1 and there["loops"] and there["firewall"] != before["firewall"]
    assert f"berth-{order.id}" in there["networks"]

    code, output = machine.say("uninstall")
    assert code == 1
    assert f"the market has 1 instances here ({order.id})" in output
    assert f"data disk {order.id}" in output and "Drain the host" in output and "--force" in output
    market.desired.clear()
    code, output = machine.say("uninstall")
    assert code == 1, "what the market does not know may still be somebody's"
    assert f"container berth-{order.id}-1" in output
    assert machine.looks() == there, "a refusal changes nothing"

    output = machine.must("uninstall", "--force")
    assert f"removed container {order.id}" in output and f"removed disk disks/{order.id}.ext4" in output
    assert machine.looks() == before


def test_uninstall_of_a_drained_host_needs_no_force(machine: Machine, market: Market) -> None:
    before = machine.looks()
    enrolled(machine, market)
    with machine.agent():
        order = order_of(market)
        market.want(order)
        market.until_phase(order.id, "running", 1)
        market.want(replace(order, generation=2, run="gone"))
        market.until_absent(order.id)
    market.trouble = ["503"]
    code, output = machine.say("uninstall")
    assert (code, "the market could not be asked" in output) == (1, True)
    machine.must("uninstall")
    assert machine.looks() == before


def test_leftovers_of_a_quarantine_are_removed_by_their_id_alone(machine: Machine, market: Market) -> None:
    """After a restore, the market knows one of the two instances."""
    enrolled(machine, market)
    market.epoch = 1
    with machine.agent():
        unknown = order_of(market)
        market.want(unknown)
        market.until_phase(unknown.id, "running", 1)
        assert market.facts is not None
        known = replace(unknown, id=uuid.uuid4().hex, gpu_uuids=[market.facts.gpus[1].uuid], ports=[(22, 20023)])
        market.want(known)
        market.until_phase(known.id, "running", 1)
        market.epoch = 2
        market.forget(unknown.id)
        market.until(lambda report: report.epoch == 2 and [row.id for row in report.holdings] == [unknown.id])
        market.until(lambda report: [row.run for row in report.holdings] == ["stopped"])
        listed = machine.must("leftovers")
        assert listed.splitlines()[0] == unknown.id and known.id not in listed, "also while the agent runs"
        assert f"  data disk {unknown.id}.ext4, 1024 MiB" in listed and "  container " in listed and "  network " in listed
        code, output = machine.say("leftovers", "--remove", unknown.id, typed=unknown.id)
        assert (code, "stop it first" in output) == (1, True), output
    before = machine.looks()

    for remove, typed, why in (
        (unknown.id, "", "nothing was deleted"),
        (unknown.id, "yes", "nothing was deleted"),
        (known.id, known.id, "not in quarantine"),
        (uuid.uuid4().hex, "", "not in quarantine"),
    ):
        code, output = machine.say("leftovers", "--remove", remove, typed=typed)
        assert (code, why in output) == (1, True), output
    market.trouble = ["503"]
    assert machine.say("leftovers", "--remove", unknown.id, typed=unknown.id)[0] == 1, "nobody knows whose it is"
    market.desired[unknown.id] = unknown
    code, output = machine.say("leftovers", "--remove", unknown.id, typed=unknown.id)
    assert (code, "The market knows" in output) == (1, True), output
    del market.desired[unknown.id]
    market.epoch = 3
    assert "new epoch" in machine.say("leftovers", "--remove", unknown.id, typed=unknown.id)[1]
    market.epoch = 2
    assert machine.looks() == before, "a refusal changes nothing"

    code, output = machine.say("leftovers", "--remove", f"inst_{unknown.id}", typed=f"{unknown.id}\n")
    assert code == 0, output
    assert f"data disk {unknown.id}.ext4" in output and "deleted all" in output
    after = machine.looks()
    assert len(after["containers"]) == 1 and not any(unknown.id in item for item in [*after["networks"], *after["loops"]])
    assert not list(machine.state.rglob(f"{unknown.id}*"))
    assert "No instance is in quarantine" in machine.must("leftovers")
    with machine.agent():
        market.until_phase(known.id, "running", 1)
        market.until(lambda report: report.holdings == [])


def test_self_test_shows_each_check(machine: Machine, market: Market) -> None:
    enrolled(machine, market)
    _, output = machine.say("self-test")
    lines = output.splitlines()
    assert any(line.startswith("passed   engine_version: ") for line in lines), output
    assert any(line.startswith("measured disk_write: ") for line in lines)
    assert any(line.startswith("measured network_up: ") or "press Test" in line for line in lines), output
    [place] = [number for number, line in enumerate(lines) if "root_limit" in line]
    assert lines[place].startswith("passed") or lines[place + 1].strip().startswith("->")
