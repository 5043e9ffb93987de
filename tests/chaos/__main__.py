"""Run it: `make chaos` (MINUTES=30, SEED=1). Bounded by its minutes, and the same faults in the same order for a seed.

Ten instances on two real engines live as renters live, while every part is killed, frozen, cut off, filled and set to a
wrong time. Then everything is mended and must be as it was: no data lost, no GPU doubled, the ledger equal to an
independent sum. Needs root, Docker's programs and gcc. Exits with 1, and says what was wrong.
"""

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import httpx

from tests.chaos.checks import Truth, check_money
from tests.chaos.faults import Fault, choose, faults_of, tend
from tests.chaos.hosts import IMAGE, Host, build_witness
from tests.docker.second_engine import SecondEngine
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

INSTANCES = 10
ROUNDS = 8  # of faults, then everything has to settle
PORTS = ("33000-33249", "33250-33499")
SETTLES_WITHIN_S = 300.0
PLAIN = "from storage.models import Image; Image.objects.filter(slug='witness').update(has_ssh=False)"
WAYS = {"running": ("stop", "restart"), "stopped": ("start",), "failed": ("start",)}


class Run:
    """One run: what lives, and what was done to it."""

    def __init__(self, stack: Stack, hosts: list[Host], rng: random.Random) -> None:
        self.stack, self.hosts, self.rng = stack, hosts, rng
        self.truth = Truth(hosts)
        self.instances: list[dict[str, Any]] = []
        self.done: dict[str, int] = {}
        self.slowest: dict[str, float] = {}

    def rent(self, alice: httpx.Client) -> None:
        offers = [renting.offer_of(alice, host.name) for host in self.hosts]
        for number in range(INSTANCES):
            choices = {"image": "witness", "data_disk_gb": 1}
            self.instances.append(renting.rent(alice, offers[number % len(offers)], **choices))
        for instance in self.instances:
            renting.wait_for_state(alice, instance, "running", timeout=SETTLES_WITHIN_S)

    def round(self, alice: httpx.Client, faults: list[Fault]) -> None:
        chosen = choose(self.rng, faults)
        self._live(alice)
        with ThreadPoolExecutor(len(chosen)) as pool:
            list(pool.map(self._suffer, chosen, [self.rng.uniform(*fault.hold) for fault in chosen]))
        began = time.monotonic()
        wait_until("the market to answer", self.stack.ready, timeout=120, pause=0.2)
        self.truth.look()
        name = " and ".join(fault.name for fault in chosen)
        self.slowest[name] = max(self.slowest.get(name, 0.0), time.monotonic() - began)
        self._live(alice)
        self._watch(self.rng.uniform(2, 8))

    def _suffer(self, fault: Fault, seconds: float) -> None:
        print(f"{time.strftime('%H:%M:%S')} {fault.name} ({seconds:.0f} s)", flush=True)
        self.done[fault.name] = self.done.get(fault.name, 0) + 1
        fault.begin()
        self._watch(seconds)
        fault.end()

    def _watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))
            self.truth.look()

    def _live(self, alice: httpx.Client) -> None:
        """A renter's next step with one of them. What is refused, or not answered, is not done."""
        instance = self.rng.choice(self.instances)
        step = self.rng.random()
        with suppress(httpx.HTTPError):
            now = alice.get(f"/api/v1/instances/{instance['id']}", timeout=5)
            ways = WAYS.get(now.json().get("state", ""), ()) if now.is_success else ()
            if ways:
                alice.post(f"/api/v1/instances/{instance['id']}/{ways[int(step * len(ways))]}", json={}, timeout=5)

    def settle(self, alice: httpx.Client) -> float:
        """All of them running again, by what a renter can do; the seconds that it took."""
        began = time.monotonic()
        wait_until("every instance to run", lambda: self._all_run(alice), timeout=SETTLES_WITHIN_S, pause=2.0)
        return time.monotonic() - began

    def _all_run(self, alice: httpx.Client) -> bool:
        states = {item["id"]: renting.read(alice, item)["state"] for item in self.instances}
        for key, state in states.items():
            if state in ("stopped", "failed"):
                alice.post(f"/api/v1/instances/{key}/start", json={})
        self.truth.look()
        return set(states.values()) == {"running"}

    def read_witnesses(self) -> None:
        for number, instance in enumerate(self.instances):
            self.truth.read_witness(self.hosts[number % len(self.hosts)], instance["id"].removeprefix("inst_"))

    def give_back(self, alice: httpx.Client) -> dict[str, Any]:
        for instance in self.instances:
            renting.act(alice, instance, "stop")
        for instance in self.instances:
            renting.wait_for_state(alice, instance, "stopped", timeout=120)
        for instance in self.instances:
            renting.release(alice, instance)
        return check_money(self.stack, self.truth, [item["id"].removeprefix("inst_") for item in self.instances])


def main() -> int:
    """Read the words, run, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends, and clears away, as at Ctrl-C
    with ExitStack() as ends:
        engines = [ends.enter_context(SecondEngine(number=200 + number)) for number in (0, 1)]
        build_witness(*(engine.socket for engine in engines))
        stack = Stack(open_folder(), durable=True)
        ends.callback(stack.stop)
        stack.start()
        stack.run_module("tests.stack.seed", "image", "witness", IMAGE)
        stack.manage("shell", "-c", PLAIN)
        hosts = [
            Host(stack, name, ports, engine) for name, ports, engine in zip(("one", "two"), PORTS, engines, strict=True)
        ]
        for host in hosts:
            ends.callback(host.stop)
            host.start()
        outcome = _run(stack, hosts, words.minutes, random.Random(words.seed))
        print(json.dumps({"seed": words.seed, "minutes": words.minutes} | outcome, indent=1))
        return 1 if outcome["wrong"] else 0


def _run(stack: Stack, hosts: list[Host], minutes: float, rng: random.Random) -> dict[str, Any]:
    ends = threading.Event()
    keeper = threading.Thread(target=_keep, args=(stack, ends))
    keeper.start()
    try:
        return _live_through(Run(stack, hosts, rng), faults_of(stack, hosts), minutes)
    except BaseException:
        kept = tempfile.mkdtemp(prefix="berth-chaos-logs-")
        for log in stack.folder.glob("*.log"):
            shutil.copy(log, kept)
        print(f"the logs are in {kept}", flush=True)
        raise
    finally:
        ends.set()
        keeper.join()


def _keep(stack: Stack, ends: threading.Event) -> None:
    while not ends.wait(1.0):
        tend(stack)


def _live_through(run: Run, faults: list[Fault], minutes: float) -> dict[str, Any]:
    alice = run.stack.client("alice")
    run.rent(alice)
    end, rounds, settled = time.monotonic() + minutes * 60, 0, []
    while time.monotonic() < end:
        for _ in range(ROUNDS):
            run.round(alice, faults)
            rounds += 1
        settled.append(run.settle(alice))
        run.read_witnesses()
        print(
            f"{time.strftime('%H:%M:%S')} all {INSTANCES} run again after {settled[-1]:.0f} s; {run.truth.counted}",
            flush=True,
        )
        if run.truth.wrong:
            break
    money = run.give_back(alice)
    worst = dict(sorted(run.slowest.items(), key=lambda pair: -pair[1])[:5])
    return money | {
        "rounds": rounds,
        "faults": dict(sorted(run.done.items())),
        "settled_s": [round(seconds) for seconds in settled],
        "slowest_answers_s": {name: round(seconds, 1) for name, seconds in worst.items()},
        "wrong": run.truth.wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
