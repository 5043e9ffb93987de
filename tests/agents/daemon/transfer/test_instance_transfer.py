"""The operators of clones and moves: killed at every step and begun again, cut, cancelled, lied to, and out of room."""

import os
import shutil
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks.loop_disks import LoopDisks, SimulatedDisks
from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.lib.chunk_manifest import CHUNK, ContentRange
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.sizes import GIB
from agents.daemon.transfer import transfer_session
from agents.daemon.transfer.instance_transfer import DISK, InstanceTransfer, transfer_operators
from agents.protocol.messages import OperationOrder
from tests.agents.daemon.transfer.test_transfer_protocol import KEY, Pipe, pipes

SOURCE, TARGET = "a" * 32, "b" * 32
MIB = 1024 * 1024
BASE, BASE_CONTENT = "sha256:base", os.urandom(2 * MIB)
IMAGE = "registry.test/base@sha256:1"


class Killed(BaseException):
    """As if the process had ended here."""


@dataclass
class FileRoots:
    """Root file systems as plain files in a folder."""

    folder: Path
    forgotten: list[str] = field(default_factory=list)
    holding: set[str] = field(default_factory=set)
    has: dict[str, frozenset[str]] = field(default_factory=dict)  # layers by image

    def saved(self, target: str, number: int) -> Path:
        return self.folder / f"{target}-{number}"

    def copy(self, source: str, target: str, number: int) -> None:
        self.saved(target, number).write_bytes((self.folder / source).read_bytes())

    def export(self, source: str, target: str, transfer_id: str, path: Path, progress: Callable[[int, int], None]) -> None:
        path.write_bytes((self.folder / source).read_bytes())
        progress(1, 1)

    def parts(self, path: Path) -> tuple[ContentRange, ...]:
        return (ContentRange(BASE, 100, 2 * MIB),)

    def hold(self, image: str, transfer_id: str) -> frozenset[str]:
        self.holding.add(transfer_id)
        return self.has.get(image, frozenset())

    def import_root(self, path: Path, target: str, number: int, *, most: int, held: Collection[str] = ()) -> None:
        content = path.read_bytes()
        if BASE in held:  # what did not travel is here already
            content = content[:100] + BASE_CONTENT + content[100 + 2 * MIB :]
        self.saved(target, number).write_bytes(content)

    def is_there(self, target: str, number: int) -> bool:
        return self.saved(target, number).exists()

    def delete(self, target: str, number: int) -> None:
        self.saved(target, number).unlink(missing_ok=True)

    def forget(self, transfer_id: str) -> None:
        self.forgotten.append(transfer_id)
        self.holding.discard(transfer_id)


class Place:
    """One host's folder, with a root and a data disk of `SOURCE` if it is where they come from."""

    def __init__(self, state: Path, *, holds: bool) -> None:
        self.state = state
        (state / "roots").mkdir(parents=True)
        self.disks = LoopDisks(state, sparse=True)
        self.roots = FileRoots(state / "roots")
        if holds:
            (state / "roots" / SOURCE).write_bytes(bytes(100) + BASE_CONTENT + os.urandom(MIB - 100))
            self.disks.make(SOURCE, 1)
            with self.disk(SOURCE).open("r+b") as file:  # in a block that its file system does not use
                file.seek(100 * MIB)
                file.write(os.urandom(2 * MIB))

    def disk(self, instance: str) -> Path:
        return self.disks.paths(instance)[0]

    def operators(self, dial: Any = None, checkpoint: Callable[[str], None] = lambda name: None) -> Mapping[str, Operator]:
        return InstanceTransfer(
            roots=self.roots, disks=self.disks, state=self.state, open_peer=dial, checkpoint=checkpoint
        ).operators()

    def has_all_of(self, other: "Place") -> bool:
        root = self.roots.saved(TARGET, 0)
        same_root = root.exists() and root.read_bytes() == (other.state / "roots" / SOURCE).read_bytes()
        return same_root and _same(self.disk(TARGET), other.disk(SOURCE))


def _same(one: Path, two: Path) -> bool:
    if not one.exists() or one.stat().st_size != two.stat().st_size:
        return False
    with one.open("rb") as left, two.open("rb") as right:
        left.seek(99 * MIB)
        right.seek(99 * MIB)
        return (
            left.read(4 * MIB) == right.read(4 * MIB) and one.stat().st_blocks * 512 < 40 * MIB
        )  # its file system is in a few blocks of it


def sent_of(image: Path) -> int:
    """Bytes of the chunks in which there is anything."""
    with image.open("rb") as file:
        return sum(len(chunk) for chunk in iter(partial(file.read, CHUNK), b"") if chunk.strip(b"\0"))


@dataclass
class Exchange:
    """The relay in miniature: whoever dials waits for the other side."""

    lives: list[float] = field(default_factory=list)  # messages of the source until each line breaks
    barrier: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))
    made: tuple[Pipe, Pipe] | None = None

    def dial(self, side: int) -> Callable[[str, str], Pipe]:
        def open_peer(pair: str, ticket: str) -> Pipe:
            assert (pair, ticket) == ("p" * 32, f"ticket-{side}")
            try:
                if self.barrier.wait(10) == 0:
                    self.made = pipes()
                    self.made[0].lives = self.lives.pop(0) if self.lives else float("inf")
                self.barrier.wait(10)
            except threading.BrokenBarrierError as error:
                raise OSError("nobody came") from error
            assert self.made is not None
            return self.made[side]

        return open_peer


def operation(kind: str, *, disk_gb: int = 1, side: int = 0, **more: str) -> Operation:
    args = {"source": SOURCE, "target": TARGET, "number": "0", "disk_gb": str(disk_gb)}
    arguments = {"pair": "p" * 32, "ticket": f"ticket-{side}", "key": KEY.hex()}
    return Operation(OperationOrder("f" * 32, kind, args | arguments | more), lambda urgent: None)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_session, "PAUSE", 0.01)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place(tmp_path / "here", holds=True)


@pytest.fixture
def there(tmp_path: Path) -> Place:
    return Place(tmp_path / "there", holds=False)


def die_at(name: str, times: int = 1) -> Callable[[str], None]:
    left = [times]

    def checkpoint(passed: str) -> None:
        if passed == name:
            left[0] -= 1
            if left[0] == 0:
                raise Killed(name)

    return checkpoint


def both(
    here: Place,
    there: Place,
    exchange: Exchange,
    checkpoint: Callable[[str], None] = lambda name: None,
    *,
    root_bytes: int = 0,
    image: str = "",
) -> Any:
    """Send and receive at once; what the receiver ended with."""
    sending = operation("send_root")
    sender = threading.Thread(target=_quietly, args=(here.operators(exchange.dial(0))["send_root"], sending))
    sender.start()
    try:
        return there.operators(exchange.dial(1), checkpoint)["receive_root"](
            operation("receive_root", side=1, root_bytes=str(root_bytes), image=image)
        )
    except (Failed, Killed) as met:
        return met
    finally:
        sending.unwanted = True  # as the market does when whoever receives has ended
        sending.cancelled.set()
        exchange.barrier.abort()
        if exchange.made is not None:
            exchange.made[1].close()
        sender.join(20)
        assert not sender.is_alive()


def _quietly(operator: Operator, own: Operation) -> None:
    with suppress(Superseded, Failed):
        operator(own)


# -- on one host


@pytest.mark.parametrize("step", ["disk-copied", "disk-in-place", "root-copied"])
def test_fault_043_a_copy_killed_anywhere_goes_on(here: Place, step: str) -> None:
    with pytest.raises(Killed):
        here.operators(checkpoint=die_at(step))["copy_root"](operation("copy_root"))
    here.operators()["copy_root"](operation("copy_root"))
    assert here.has_all_of(here)
    assert not list(here.state.glob("disks/*.new"))


def test_a_copy_without_the_disk_leaves_it(here: Place) -> None:
    here.operators()["copy_root"](operation("copy_root", disk_gb=0))
    assert here.roots.is_there(TARGET, 0) and not here.disk(TARGET).exists()


def test_a_copy_that_nobody_wants_any_more_leaves_nothing(here: Place) -> None:
    own = operation("copy_root")
    seen: list[str] = []

    def checkpoint(name: str) -> None:
        seen.append(name)
        if name == "root-copied":
            own.unwanted = True
            own.cancelled.set()

    with pytest.raises(Superseded):
        here.operators(checkpoint=checkpoint)["copy_root"](own)
    assert seen[-1] == "root-copied" and not here.roots.is_there(TARGET, 0) and not here.disk(TARGET).exists()


def test_without_its_disk_nothing_is_copied(here: Place) -> None:
    here.disk(SOURCE).unlink()
    with pytest.raises(Failed, match="disk_missing"):
        here.operators()["copy_root"](operation("copy_root"))


# -- between two


def test_what_is_sent_arrives_and_nothing_is_left_on_the_way(here: Place, there: Place) -> None:
    outcome = both(here, there, Exchange())
    assert there.has_all_of(here)
    assert (outcome["cuts"], outcome["resumed_at"]) == ("0", "0") and len(outcome["checksum"]) == 64
    assert not list((there.state / "moves").iterdir()) and not list((here.state / "moves").iterdir())
    assert here.roots.forgotten and here.disk(SOURCE).exists()


@pytest.mark.parametrize("cuts", [[], [4], [2, 5]])
def test_layers_that_the_other_host_has_stay_at_home(here: Place, there: Place, cuts: list[float]) -> None:
    there.roots.has[IMAGE] = frozenset({BASE})
    outcome = both(here, there, Exchange(lives=cuts), image=IMAGE)
    assert there.has_all_of(here)
    skipped = 3  # chunks of the root lie wholly in the layer; those at its two ends travel
    assert int(outcome["bytes"]) == 3 * MIB - skipped * CHUNK + sent_of(here.disk(SOURCE))
    assert not there.roots.holding


@pytest.mark.parametrize("image", ["", "registry.test/other@sha256:2"])
def test_without_the_image_all_of_it_travels(here: Place, there: Place, image: str) -> None:
    """An older control plane names none, and another one's layers are not this renter's to have."""
    there.roots.has[IMAGE] = frozenset({BASE})
    outcome = both(here, there, Exchange(), image=image)
    assert there.has_all_of(here) and int(outcome["bytes"]) == 3 * MIB + sent_of(here.disk(SOURCE))


@pytest.mark.parametrize(("step", "times"), [("chunk", 2), ("received", 1), ("disk-in-place", 1), ("root-in-place", 1)])
def test_fault_043_a_receiver_killed_anywhere_keeps_the_layers_it_skipped(
    here: Place, there: Place, step: str, times: int
) -> None:
    there.roots.has[IMAGE] = frozenset({BASE})
    assert isinstance(both(here, there, Exchange(), die_at(step, times), image=IMAGE), Killed)
    assert there.roots.holding
    dial: Any = Exchange().dial(1) if step != "chunk" else None
    if dial:
        there.operators(dial)["receive_root"](operation("receive_root", side=1, image=IMAGE))
    else:
        both(here, there, Exchange(), image=IMAGE)
    assert there.has_all_of(here) and not there.roots.holding


def test_after_a_cut_it_goes_on_at_the_last_good_chunk(here: Place, there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.daemon.transfer.transfer_protocol.KEEP_EVERY", 1)
    outcome = both(here, there, Exchange(lives=[7, 1, 5]))
    assert there.has_all_of(here)
    assert int(outcome["cuts"]) >= 2 and int(outcome["resumed_at"]) >= 4 * 512 * 1024


@pytest.mark.parametrize(("step", "times"), [("chunk", 3), ("received", 1), ("disk-in-place", 1), ("root-in-place", 1)])
def test_fault_043_a_receiver_killed_anywhere_goes_on(here: Place, there: Place, step: str, times: int) -> None:
    assert isinstance(both(here, there, Exchange(), die_at(step, times)), Killed)
    if step == "chunk":
        outcome = both(here, there, Exchange())
    else:  # everything is there: it needs nobody to talk to any more
        silent = there.operators(lambda pair, ticket: pytest.fail("it dialled"))
        outcome = silent["receive_root"](operation("receive_root", side=1))
    assert there.has_all_of(here)
    assert len(outcome["checksum"]) == 64 and not list((there.state / "moves").iterdir())


def test_fault_044_a_host_without_room_says_so_before_the_first_byte(
    here: Place, there: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.daemon.transfer.instance_transfer.HEADROOM", 2**60)
    met = both(here, there, Exchange())
    assert isinstance(met, Failed) and met.code == "disk_full"
    assert not list((there.state / "moves").rglob(DISK)) and here.disk(SOURCE).exists()


def test_a_disk_larger_than_rented_is_refused(here: Place, there: Place) -> None:
    with here.disk(SOURCE).open("r+b") as file:
        file.truncate(2 * GIB)
    met = both(here, there, Exchange())
    assert isinstance(met, Failed) and met.code == "bad_parcel"


@pytest.mark.parametrize(("most", "ends_as"), [(3 * MIB, None), (3 * MIB - 1, "system_disk_full")])
def test_a_root_larger_than_an_image_and_a_system_disk_is_refused_before_the_first_byte(
    here: Place, there: Place, most: int, ends_as: str | None
) -> None:
    met = both(here, there, Exchange(), root_bytes=most)
    assert (met.code if isinstance(met, Failed) else None) == ends_as
    assert there.roots.is_there(TARGET, 0) == (ends_as is None)
    assert not list((there.state / "moves").rglob("root.tar"))


def test_room_is_asked_for_the_root_as_the_engine_unpacks_it(
    here: Place, there: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file, what the engine unpacks of it, and the layers that it makes: room for two of them is too little."""
    usage = shutil.disk_usage(there.state)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=GIB + 2 * MIB + 8 * MIB))
    met = both(here, there, Exchange())
    assert isinstance(met, Failed) and met.code == "disk_full"


def test_what_was_left_half_goes_with_the_instance(here: Place, there: Place) -> None:
    assert isinstance(both(here, there, Exchange(), die_at("chunk")), Killed)
    assert there.disks.leftovers(TARGET)
    there.disks.delete(TARGET)
    assert there.disks.leftovers(TARGET) == [] and not list((there.state / "moves").iterdir())


def test_two_that_never_meet_give_up(there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_session, "STALLED_AFTER", 0.05)

    def nobody(pair: str, ticket: str) -> Pipe:
        raise OSError("nobody came")

    with pytest.raises(Failed, match="line_lost"):
        there.operators(nobody)["receive_root"](operation("receive_root", side=1))


def test_a_simulated_host_has_the_root_as_soon_as_it_is_named(tmp_path: Path) -> None:
    runtime = SimulatedRuntime(tmp_path / "simulated.json")
    operators = transfer_operators(
        runtime, SimulatedDisks(), state=tmp_path, open_peer=lambda *_: pytest.fail("a simulated host dialled")
    )
    assert operators["receive_root"](operation("receive_root")) == {"simulated": "1"}
    assert operators["send_root"](operation("send_root")) == {"simulated": "1"}
    assert runtime.saved_root(TARGET, 0) is not None
