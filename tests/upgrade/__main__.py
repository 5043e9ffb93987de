"""Run it: `make upgrade-drill FROM=<commit>`, in a clone that has that commit. Exits with an assertion that does not hold.

A market and two hosts (one simulated, one on a real engine) run the code of FROM with instances running and stopped. Then
the market takes this version while the agents keep theirs, and then the agents do: no instance ends, no container is made
anew, nothing on a disk is lost, the ledger holds. At last agents of this version work for a market of FROM.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from agents.daemon.docker_engine.container_spec import INSTANCE_LABEL
from tests.chaos.hosts import IMAGE, build_witness
from tests.docker.second_engine import SecondEngine
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import ROOT, Stack
from tests.waiting import wait_until

PLAIN: Final = "from storage.models import Image; Image.objects.filter(slug='witness').update(has_ssh=False)"
HOSTS: Final = {
    "simulated": ["--runtime", "simulated", "--simulate-gpus", "RTX 4090:4", "--ports", "34000-34249"],
    "real": ["--runtime", "docker", "--simulate-gpus", "RTX 4090:4", "--local-images", "--ports", "34250-34499"],
}
NEVER_S: Final = 20.0  # without a sync of an agent that works
HEARD: Final = "SELECT extract(epoch FROM clock_timestamp() - min(last_seen_at)) FROM marketplace_host"


class Drill:
    """A market with two hosts on one engine."""

    def __init__(self, stack: Stack, engine: SecondEngine) -> None:
        self.stack, self.engine = stack, engine
        self.alice: httpx.Client

    def start(self) -> None:
        self.stack.start()
        self.stack.run_module("tests.stack.seed", "image", "witness", IMAGE)
        self.stack.manage("shell", "-c", PLAIN)
        self.stack.settings["DOCKER_HOST"] = self.engine.socket
        for name, own in HOSTS.items():
            address = ["--listen", "0.0.0.0", "--address", self.engine.address] if name == "real" else []
            self.stack.enrol(name, *own, *address)
        self.alice = self.stack.client("alice")

    def rent(self, host: str) -> dict[str, Any]:
        instance = renting.rent(self.alice, renting.offer_of(self.alice, host), image="witness", data_disk_gb=1)
        return renting.wait_for_state(self.alice, instance, "running", timeout=120)

    def act(self, instance: dict[str, Any], verb: str, state: str) -> None:
        renting.act(self.alice, instance, verb)
        renting.wait_for_state(self.alice, instance, state, timeout=120)

    def live(self, host: str) -> None:
        """A whole life there."""
        instance = self.rent(host)
        self.act(instance, "stop", "stopped")
        self.act(instance, "start", "running")
        self.act(instance, "restart", "running")
        renting.release(self.alice, instance)

    def container(self, instance: dict[str, Any]) -> tuple[str, str]:
        """Its id, and when it began to run."""
        with closing(self.engine.client()) as client:
            label = f"{INSTANCE_LABEL}={str(instance['id']).removeprefix('inst_')}"
            [item] = client.containers(all=True, filters={"label": label})
            found = client.inspect_container(item["Id"])
        return found["Id"], found["State"]["StartedAt"]

    def counted(self, instance: dict[str, Any]) -> list[int]:
        """What the program in it has written to its root and to its data disk."""
        found = []
        with closing(self.engine.client()) as client:
            for path in ("/witness", "/data/witness"):
                stat = client.get_archive(self.container(instance)[0], path)[1]
                found.append(int(stat["size"]))
        return found

    def heard_of_all(self) -> None:
        """Both agents have synced since now."""
        time.sleep(1.0)
        began = time.monotonic()
        wait_until(
            "both agents to sync",
            lambda: float(self.stack.sql(HEARD)[0][0]) < time.monotonic() - began,
            timeout=90,
            pause=0.5,
        )

    def change_market(self, root: Path) -> float:
        """Seconds without an answer."""
        for name in ("worker", "relay", "web"):
            self.stack.kill(name)
        began = time.monotonic()
        self.stack.market_root = root
        self.stack.manage("migrate", "--verbosity", "0")
        self.stack.manage("grant_app_role", "--verbosity", "0")
        for name in ("web", "relay", "worker"):
            self.stack.restart(name)
        wait_until("the market", self.stack.ready, timeout=150, pause=0.1)
        return time.monotonic() - began

    def change_agents(self, root: Path) -> None:
        self.stack.agent_root = root
        for name in HOSTS:
            self.stack.kill(f"agent-{name}")
            self.stack.restart(f"agent-{name}")


@contextmanager
def tree_of(revision: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="berth-before-") as folder:
        place = Path(folder) / "tree"
        Path(folder).chmod(0o755)
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", place, revision], cwd=ROOT, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


def upgrade(drill: Drill) -> None:
    """From the old code to this."""
    running = {name: drill.rent(name) for name in HOSTS}
    resting = {name: drill.rent(name) for name in HOSTS}
    for instance in resting.values():
        drill.act(instance, "stop", "stopped")
    before, counted, kept = drill.container(running["real"]), drill.counted(running["real"]), drill.counted(resting["real"])

    def check(when: str) -> None:
        drill.heard_of_all()
        states = {name: renting.read(drill.alice, item)["state"] for name, item in running.items()}
        assert set(states.values()) == {"running"}, (when, states)
        assert drill.container(running["real"]) == before, f"{when}: the container is another one, or began anew"
        drill.stack.manage("verify_ledger")
        print(f"{when}: instances run on, the container is the same, the ledger holds", flush=True)

    away = drill.change_market(ROOT)
    check(f"new market ({away:.0f} s away), agents of before")
    for name in HOSTS:
        drill.live(name)
    drill.change_agents(ROOT)
    check("new market, new agents")
    for name in HOSTS:
        drill.live(name)
        drill.act(resting[name], "start", "running")
    assert all(now >= then for now, then in zip(drill.counted(resting["real"]), kept, strict=True)), "what it had is lost"
    assert all(now > then for now, then in zip(drill.counted(running["real"]), counted, strict=True)), "it stood still"
    for instance in (*running.values(), *resting.values()):
        renting.release(drill.alice, instance)
    drill.stack.manage("verify_ledger")
    assert drill.stack.sql("SELECT id FROM marketplace_lease WHERE released_at IS NULL") == []
    assert drill.stack.sql("SELECT id FROM billing_hold WHERE released_at IS NULL") == []


def main() -> int:
    """Both directions."""
    parser = argparse.ArgumentParser(prog="python -m tests.upgrade", description=__doc__)
    parser.add_argument("--from", dest="before", required=True, help="the commit to upgrade from")
    revision = parser.parse_args().before
    with ExitStack() as ends:
        before = ends.enter_context(tree_of(revision))
        engine = ends.enter_context(SecondEngine(number=202))
        build_witness(engine.socket)
        for act, agents in ((upgrade, before), (_lives, ROOT)):
            stack = Stack(open_folder(), market_root=before, agent_root=agents)
            try:
                drill = Drill(stack, engine)
                drill.start()
                act(drill)
            finally:
                stack.stop()
    return 0


def _lives(drill: Drill) -> None:
    for name in HOSTS:
        drill.live(name)
    drill.stack.manage("verify_ledger")
    print("market of before, new agents: whole lives on both hosts, the ledger holds", flush=True)


if __name__ == "__main__":
    sys.exit(main())
