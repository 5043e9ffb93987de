"""Two hosts and the relay between them; what is carried from one to the other, the agent of either killed at each step."""

import hashlib
import os
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from agents.protocol.messages import OperationOrder
from agents.protocol.tickets import sign_ticket
from tests.docker.kill_stage import CUT, Stage

SECRET: Final = "relay-secret-of-the-kill-points"
PATIENCE: Final = 120.0  # for one step, on a machine that has other things to do
_BLOCK: Final = 64 * 1024


def sign(topic: str) -> str:
    return sign_ticket(SECRET, topic=topic, expires_at=int(time.time()) + 3600)


def join(stage: Stage, relay_port: int) -> None:
    """Its agent is there, and knows the relay."""
    host, url = stage.machine.host_id, f"ws://127.0.0.1:{relay_port}/relay/v1/link"
    stage.market.streams = lambda: {"link_url": url, "link_ticket": sign(f"link:{host}"), "now": int(time.time())}
    stage.spawn()
    stage.market.until(lambda report: report.facts is not None)


def sum_of_disk(path: Path) -> str:
    """Of what is in a disk's image and where, without reading its holes: zeros are nothing."""
    state, at = hashlib.sha256(str(path.stat().st_size).encode()), 0
    with path.open("rb", buffering=0) as file:
        while (at := _next_data(file.fileno(), at)) >= 0:
            block = os.pread(file.fileno(), _BLOCK, at)
            if block.strip(b"\0"):
                state.update(at.to_bytes(8) + block)
            at += _BLOCK
    return state.hexdigest()


def _next_data(file: int, at: int) -> int:
    """The block in which there is data again; -1 for none."""
    try:
        return os.lseek(file, at, os.SEEK_DATA) // _BLOCK * _BLOCK
    except OSError:  # nothing but a hole, or the end
        return -1


Inventories = tuple[Counter[str], Counter[str]]


@dataclass
class Two:
    """The host that has what is carried, and the one that it goes to."""

    here: Stage
    there: Stage
    direct: Mapping[str, str] = field(default_factory=dict)  # where who receives listens; none: all goes through the relay

    @property
    def both(self) -> tuple[Stage, Stage]:
        return self.here, self.there

    def inventories(self) -> Inventories:
        return self.here.machine.inventory(), self.there.machine.inventory()

    def carry(self, kinds: tuple[str, str], args: Mapping[str, str]) -> None:
        pair = uuid.uuid4().hex
        arguments = {**args, **self.direct, "pair": pair, "key": secrets.token_hex(32)}
        for stage, kind, side in zip(self.both, kinds, ("source", "target"), strict=True):
            order = OperationOrder(uuid.uuid4().hex, kind, {**arguments, "ticket": sign(f"pair:{pair}:{side}")})
            stage.operations[kind] = order
            stage.market.ask(order)

    def withdraw(self) -> None:
        for stage in self.both:
            stage.market.ask()

    def until(self, what: str, true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                logs = "\n".join(Path(f"{stage.state}.log").read_text()[-1500:] for stage in self.both)
                raise AssertionError(f"never: {what}\n{logs}")
            time.sleep(0.02)

    def at_rest(self) -> bool:
        """Nobody is asked for anything, has told of anything, or would begin with anything."""
        return all(
            not stage.market.operations and not stage.market.reports[-1].operations and not stage.agent.is_busy()
            for stage in self.both
        )


def nothing() -> None:
    """Nothing to do."""


@dataclass
class Act:
    """`begin` orders it; over it is when `settle` says so and both agents are at rest."""

    two: Two
    name: str
    kinds: tuple[str, ...]  # of work: whose steps these are
    begin: Callable[[], None]
    settle: Callable[[], bool]  # asked again and again; may tell the hosts what follows from what they told
    check: Callable[[], None] = nothing
    at_cut: Callable[[], None] = nothing  # what holds even while nobody is at work
    change: Inventories = (Counter(), Counter())  # what it brings about on either host

    def in_peace(self) -> list[list[str]]:
        """The steps that each side comes to, in the order in which it first comes to them."""
        before = self.two.inventories()
        marks = [len(stage.agent.steps) for stage in self.two.both]
        self.begin()
        self._end()
        self.change = _change(before, self.two.inventories())
        self.check()
        found = []
        for stage, mark in zip(self.two.both, marks, strict=True):
            own = [step for kind, step in stage.agent.steps[mark:] if kind in self.kinds]
            found.append(list(dict.fromkeys(step for last, step in pairwise(["", *own]) if _is_own(last, step))))
        return found

    def cut(self, side: Stage, steps: list[str]) -> None:
        """Each agent of this side dies at the step after the one at which the last has died."""
        before = self.two.inventories()
        side.agent.arm(steps[0], 1)
        self.begin()
        for following in [*steps[1:], ""]:
            self._until_dead(side, following)
        self._end()
        self.two.until(
            f"{self.name}, cut at {steps}, brings about {self.change}",
            lambda: _change(before, self.two.inventories()) == self.change,
        )
        self.check()

    def _until_dead(self, side: Stage, following: str) -> None:
        def is_dead() -> bool:
            self.settle()
            return side.agent.is_dead

        self.two.until(f"{self.name}: its agent dies before it dies at {following}", is_dead)
        CUT.add(side.agent.steps[-1])
        self.at_cut()
        side.spawn((following, 1) if following else ("", 0))

    def _end(self) -> None:
        self.two.until(f"{self.name} is over", lambda: self.settle() and self.two.at_rest())


def _is_own(last: str, step: str) -> bool:
    """What comes right after a checkpoint is no place of its own."""
    return step.startswith("=") or not last.startswith("=")


def _change(before: Inventories, after: Inventories) -> Inventories:
    found = []
    for was, now in zip(before, after, strict=True):
        change = Counter(now)
        change.subtract(was)
        found.append(Counter({what: count for what, count in change.items() if count}))
    return found[0], found[1]
