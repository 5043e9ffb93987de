"""What goes wrong, and how it ends. Each begins at once and is over when it has been ended: nobody else mends anything."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tests.chaos.hosts import Host
from tests.stack.harness import Stack

DAY_S: Final = 24 * 3600


@dataclass(frozen=True)
class Fault:
    """`hold` is how long it lasts, in seconds, from … to. Two of one `part` never overlap."""

    name: str
    part: str
    begin: Callable[[], object]
    end: Callable[[], object]
    hold: tuple[float, float] = (0.0, 5.0)


def faults_of(stack: Stack, hosts: list[Host]) -> list[Fault]:
    found = [_killed(stack, name) for name in ("web", "relay", "worker", "redis")]
    found += [_frozen(stack, name) for name in ("web", "relay", "redis")]
    found.append(Fault("PostgreSQL ends at once", "postgres", stack.crash_postgres, stack.revive_postgres))
    found.append(Fault("FLUSHALL", "redis", partial(_flush, stack), _nothing))
    for host in hosts:
        found += _of_host(stack, host)
    return found


def _of_host(stack: Stack, host: Host) -> list[Fault]:
    name = host.name

    def jump(days: int) -> Callable[[], None]:
        return partial(host.set_clock, days * DAY_S)

    return [
        Fault(f"agent {name} is killed", host.agent, partial(stack.kill, host.agent), host.restart_agent),
        _frozen(stack, host.agent, most=40.0),
        Fault(f"engine {name} is killed", f"engine-{name}", host.engine.kill, host.engine.start_again, (1.0, 10.0)),
        Fault(f"engine {name} restarts", f"engine-{name}", host.engine.restart, _nothing),
        replace(_frozen(stack, host.proxy), name=f"the network of {name} is gone", hold=(5.0, 75.0)),
        Fault(f"the disk of {name} is full", f"disk-{name}", host.fill_disk, host.empty_disk, (5.0, 20.0)),
        Fault(
            f"agent {name} starts on a full disk", f"disk-{name}", partial(_full_start, host), host.empty_disk, (3.0, 10.0)
        ),
        *(
            Fault(f"the clock of {name} is {days:+d} day wrong", f"clock-{name}", jump(days), jump(0), (5.0, 30.0))
            for days in (-1, 1)
        ),
    ]


def _killed(stack: Stack, name: str) -> Fault:
    return Fault(f"{name} is killed", name, partial(stack.kill, name), partial(stack.restart, name))


def _frozen(stack: Stack, name: str, most: float = 15.0) -> Fault:
    stop, go = partial(_sign, stack, name, signal.SIGSTOP), partial(_sign, stack, name, signal.SIGCONT)
    return Fault(f"{name} stands still", name, stop, go, (2.0, most))


def _sign(stack: Stack, name: str, sign: signal.Signals) -> None:
    process = stack.processes.get(name)
    if process is not None:
        os.killpg(process.pid, sign)


def tend(stack: Stack) -> None:
    """What ended by itself starts again, as under systemd or Docker: Celery gives up when its broker goes twice."""
    for name, process in list(stack.processes.items()):
        if process.poll() is not None and stack.processes.get(name) is process:
            print(f"{time.strftime('%H:%M:%S')} {name} ended by itself with {process.returncode}", flush=True)
            stack.restart(name)


def _nothing() -> None:
    """It mends itself."""


def _flush(stack: Stack) -> None:
    if "redis" in stack.processes:
        stack.flush_redis()


def _full_start(host: Host) -> None:
    host.fill_disk()
    host.restart_agent()


def choose(rng: random.Random, faults: list[Fault]) -> list[Fault]:
    """One, or two at once of different parts."""
    first, second = rng.sample(faults, 2)
    return [first] if rng.random() < 0.6 or first.part == second.part else [first, second]
