"""Benchmark of the rent transaction alone: one process orders, no agent answers; floor in plain SQL."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.frame import REPEATS, Sample
from tests.stack.harness import ROOT, Stack
from tests.stack.renting import offer_of

_GPUS = 64  # as many as one host may have


@contextmanager
def rent_transactions() -> Iterator[Callable[[], Sample]]:
    folder = Path(tempfile.mkdtemp(prefix="berth-bench-"))
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    stack = Stack(folder, durable=True)
    try:
        stack.start(jobs=False)
        names = [f"sim-{number}" for number in range(REPEATS)]
        for name in names:
            stack.enrol(name, "--runtime", "simulated", "--simulate-gpus", f"RTX 4090:{_GPUS}")
        with stack.client("alice") as client:
            offers = [offer_of(client, name)["id"] for name in names]
        for name in names:
            stack.kill(f"agent-{name}")
        yield lambda: _orders(stack, offers.pop())
    finally:
        stack.stop()


def _orders(stack: Stack, offer: str) -> Sample:
    command = [sys.executable, "-m", "bench.orders", offer, str(_GPUS)]
    done = subprocess.run(command, cwd=ROOT, env=stack.env, capture_output=True, text=True, check=True)  # noqa: S603 own command
    found = json.loads(done.stdout)
    return Sample(found["ms"], found["bare_ms"], {"a second": 1_000 / found["ms"]})
