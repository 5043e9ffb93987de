"""An instance and a volume on their way between two engines, the agent of either side killed at each step of it.

A first trip makes what only a first one makes. The next tells the steps of both sides; then either dies at each of them.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from agents.daemon.lib.config import load_config
from agents.protocol.messages import Run
from tests.docker.conftest import free_port as free_host_port
from tests.docker.kill_matrix import build_greeter, checksum, fork_server
from tests.docker.kill_pairs import SECRET, Act, Two, join, sum_of_disk
from tests.docker.kill_stage import GREETER, Stage, open_stage
from tests.docker.second_engine import SecondEngine
from tests.web.serving import free_port, relay

pytestmark = pytest.mark.docker  # one engine, one firewall
KEPT: Final = b"installed by the renter"
ROOT: Final = 9


@pytest.fixture(scope="module")
def two(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    build_greeter(GREETER)
    folder = tmp_path_factory.mktemp
    port = free_port()
    with relay(port=port, secret=SECRET, origin="http://127.0.0.1"), fork_server() as place, SecondEngine() as second:
        client = second.client()
        with (
            open_stage(engine, folder("here"), place) as here,
            open_stage(client, folder("there"), place, listen=second.address) as there,
        ):
            there.env["DOCKER_HOST"] = second.socket
            for stage in (here, there):
                join(stage, port)
            yield Two(here, there)
        client.close()


class Trip:
    """Of a stopped box, which stays here whole: it arrives there, runs there, and leaves again."""

    def __init__(self, two: Two) -> None:
        self.two, self.here, self.there = two, two.here, two.there
        # Both agents have one firewall here, and what is of one id they would share.
        self.here.new("box", allow_from=[])
        self.here.market.until(lambda report: self.here.has_reported("running"))
        self.here.keep(self.here.data(), os.urandom(4_000_000))
        self.data = self.here.sums.pop(self.here.data())
        self.here.machine.put(self.here.box.id, "kept", KEPT)
        self.here.change(run="stopped", again=False)
        self.here.market.until(lambda report: self.here.has_reported("stopped"))
        self.there.machine.names[self.here.box.id] = "box"
        self.there.every.append(self.here.box.id)
        self.fence, self.sum = self.here.box.fence, ""

    # -- on its way

    def carry(self) -> None:
        self.there.forget("box")
        box = self.here.box.id
        args = {"source": box, "target": box, "number": str(ROOT), "disk_gb": "1"}
        self.two.carry(("send_root", "receive_root"), args)

    def is_untouched(self) -> None:
        """Of the source everything is there, and nothing of it runs."""
        assert self.here.machine.get(self.here.box.id, "kept") == KEPT
        assert self.sum in ("", sum_of_disk(self.disk(self.here)))
        assert self.live(self.here) == 0

    def has_arrived(self) -> None:
        self.is_untouched()
        self.sum = sum_of_disk(self.disk(self.here))
        assert sum_of_disk(self.disk(self.there)) == self.sum
        assert self.live(self.there) == 0

    def disk(self, stage: Stage) -> Path:
        return stage.state / "disks" / f"{self.here.box.id}.ext4"

    def live(self, stage: Stage) -> int:
        filters = {"label": f"berth.instance={self.here.box.id}"}
        return len(stage.machine.engine.containers(filters=filters))

    # -- there

    def order(self, run: Run) -> None:
        """What has left a host comes back to it by another lease alone."""
        facts, box = self.there.market.facts, self.here.box
        assert facts is not None
        self.fence += run == "running"
        moved = replace(box, generation=box.generation + 1, run=run, root=ROOT, root_brought=True, fence=self.fence)
        self.there.orders["box"] = replace(moved, gpu_uuids=[facts.gpus[0].uuid])
        self.there.market.want(self.there.orders["box"])

    def runs_once(self) -> None:
        self.is_untouched()
        assert self.live(self.there) == 1
        assert self.there.machine.get(self.here.box.id, "kept") == KEPT
        assert checksum(self.there.data()) == self.data

    def runs_at_most_once(self) -> None:
        self.is_untouched()
        assert self.live(self.there) <= 1

    # -- all of it

    def carrying(self) -> Act:
        kinds, over = ("send_root", "receive_root"), arrived(self.two, "receive_root")
        return Act(self.two, "carry", kinds, self.carry, over, self.has_arrived, self.is_untouched)

    def running(self) -> Act:
        def is_there() -> bool:
            return self.there.has_reported("running")

        begin = partial(self.order, "running")
        return Act(self.two, "run there", ("create",), begin, is_there, self.runs_once, self.runs_at_most_once)

    def leaving(self) -> Act:
        begin = partial(self.order, "gone")
        return Act(self.two, "leave", ("remove",), begin, self.there.is_gone, self.is_untouched, self.is_untouched)


def arrived(two: Two, kind: str) -> Callable[[], bool]:
    """All is there. Then the market asks neither of them any more, whether the source has told its end or not."""

    def is_there() -> bool:
        if two.there.market.operations and two.there.is_done(kind):
            two.withdraw()
        return not two.there.market.operations

    return is_there


def checkpoints(steps: list[str]) -> list[str]:
    """Enough of what `test_kill_points.py` cuts everywhere. The agent after one killed at "=created" makes no network."""
    return [step for step in steps if step.startswith("=") and step != "=network"]


def test_fault_043_a_move_is_cut_on_either_side(two: Two) -> None:
    trip = Trip(two)
    carry, undo, run, leave = trip.carrying(), trip.leaving(), trip.running(), trip.leaving()
    bare = two.there.machine.inventory()
    carry.in_peace()
    undo.in_peace()
    assert two.there.machine.inventory() == bare
    sent, received = carry.in_peace()
    _, ran = run.in_peace()
    _, left = leave.in_peace()
    carry.cut(two.here, sent)
    undo.in_peace()
    for stage, step in ((two.here, "=described"), (two.there, "POST images/load"), (two.there, "=root-in-place")):
        given_up(trip, stage, step)
    carry.cut(two.there, received)
    run.cut(two.there, checkpoints(ran))
    leave.cut(two.there, checkpoints(left))
    assert two.there.machine.inventory() == bare


def given_up(trip: Trip, side: Stage, step: str) -> None:
    """While the agent of one side is away: on neither is anything left of it."""
    before = trip.two.inventories()
    side.agent.arm(step, 1)
    trip.carry()
    side.until_dead()
    trip.two.withdraw()
    trip.order("gone")
    side.spawn()
    trip.two.until(f"given up at {step}", lambda: trip.there.is_gone() and trip.two.inventories() == before)
    trip.is_untouched()


def test_a_move_straight_from_host_to_host_is_cut_on_either_side(two: Two) -> None:
    """Each agent that follows dials, or listens, again; a cut line never makes it a move by the relay."""
    trip = Trip(two)
    address = load_config(two.there.state).listen
    two.direct = {"direct_address": address, "direct_port": str(free_host_port()), "direct_private": "1"}
    # Of the engine's network, in which its agent is not here: nothing is published meanwhile.
    subprocess.run(["ip", "addr", "add", f"{address}/32", "dev", "lo"], check=True)
    carry, undo = trip.carrying(), trip.leaving()
    bare = two.there.machine.inventory()
    try:
        carry.in_peace()
        undo.in_peace()
        sent, received = carry.in_peace()
        went_straight(two)
        undo.in_peace()
        for side, steps in ((two.here, sent), (two.there, received)):
            carry.cut(side, checkpoints(steps))
            went_straight(two)
            undo.in_peace()
    finally:
        two.direct = {}
        subprocess.run(["ip", "addr", "del", f"{address}/32", "dev", "lo"], check=True)
    assert two.there.machine.inventory() == bare


def went_straight(two: Two) -> None:
    order = two.there.operations["receive_root"].id
    rows = (row for report in two.there.market.reports for row in report.operations)
    [way] = {row.outcome["way"] for row in rows if row.id == order and row.phase == "done"}
    assert way == "direct"


def test_a_volume_is_cut_on_either_side(two: Two) -> None:
    here, there = two.both
    here.ask_in_peace("make_volume", volume=here.named("volume"), size_gb="1")
    volume = here.id_of("volume")
    there.machine.names[volume] = "volume"
    image, copy = (stage.state / "volumes" / "disks" / f"{volume}.ext4" for stage in two.both)
    subprocess.run(["umount", here.state / "volumes" / "mounts" / volume], check=True)  # which writes to it
    with image.open("r+b") as file:  # not by its file system: what travels is the image
        file.seek(700 << 20)
        file.write(os.urandom(4_000_000))
    was, bare = sum_of_disk(image), two.inventories()
    args = {"source": volume, "target": volume, "size_gb": "1"}

    def is_untouched() -> None:
        assert sum_of_disk(image) == was

    def is_whole() -> None:
        assert (sum_of_disk(image), sum_of_disk(copy)) == (was, was)

    def clear() -> None:
        there.ask("clear_volume", volume=volume)

    kinds = ("send_volume", "receive_volume")
    carry = Act(two, "carry", kinds, lambda: two.carry(kinds, args), arrived(two, kinds[1]), is_whole, is_untouched)
    clean = Act(two, "clear", ("clear_volume",), clear, arrived(two, "clear_volume"), is_untouched, is_untouched)
    carry.in_peace()
    clean.in_peace()
    sent, received = carry.in_peace()
    _, cleared = clean.in_peace()
    carry.cut(here, sent)
    clean.in_peace()
    carry.cut(there, received)
    for step in cleared:  # each in the agent that brought the volume: the next one tidies what lies there beside its work
        clean.cut(there, [step])
        carry.in_peace()
    clean.in_peace()
    assert two.inventories() == bare
