"""Volumes between two hosts: killed at every step, cut, cancelled, lied to, and never mixed with what lay there before."""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks.loop_disks import LoopDisks
from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.transfer import transfer_session, volume_transfer
from agents.daemon.transfer.volume_transfer import FILE, VolumeTransfer, simulated_volume_transfers
from agents.protocol.messages import OperationOrder
from tests.agents.daemon.transfer.test_instance_transfer import Exchange, Killed, _quietly, _same, die_at, sent_of
from tests.agents.daemon.transfer.test_transfer_protocol import KEY

SOURCE, TARGET = "a" * 32, "c" * 32
MIB = 1024 * 1024


class Place:
    """The volumes of one host, with `SOURCE` if it is where they come from."""

    def __init__(self, root: Path, *, holds: bool) -> None:
        self.root = root
        self.volumes = LoopDisks(root / "volumes", sparse=True)
        if holds:
            self.volumes.make(SOURCE, 1)
            with self.image(SOURCE).open("r+b") as file:  # in a block that its file system does not use
                file.seek(100 * MIB)
                file.write(os.urandom(2 * MIB))

    def image(self, volume: str) -> Path:
        return self.volumes.paths(volume)[0]

    def operators(
        self, dial: Any = None, checkpoint: Callable[[str], None] = lambda name: None, *, sparse: bool = True
    ) -> Mapping[str, Operator]:
        own = VolumeTransfer(self.volumes, root=self.root, sparse=sparse, open_peer=dial, checkpoint=checkpoint)
        return own.operators()

    def receive(self, own: Operation, checkpoint: Callable[[str], None] = lambda name: None) -> Mapping[str, str]:
        """With nobody to talk to."""
        return self.operators(lambda pair, ticket: pytest.fail("it dialled"), checkpoint)["receive_volume"](own)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_session, "PAUSE", 0.01)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place(tmp_path / "here", holds=True)


@pytest.fixture
def there(tmp_path: Path) -> Place:
    return Place(tmp_path / "there", holds=False)


def order(*, side: int = 0, key: str = "f" * 32, size_gb: int = 1) -> Operation:
    args = {"source": SOURCE, "target": TARGET, "size_gb": str(size_gb)}
    arguments = {"pair": "p" * 32, "ticket": f"ticket-{side}", "key": KEY.hex()}
    return Operation(OperationOrder(key, "receive_volume" if side else "send_volume", args | arguments), lambda urgent: None)


def both(
    here: Place,
    there: Place,
    exchange: Exchange,
    checkpoint: Callable[[str], None] = lambda name: None,
    *,
    receiving: Operation | None = None,
    sparse: bool = True,
) -> Any:
    """Send and receive at once; what the receiver ended with."""
    sending = order()
    sender = threading.Thread(target=_quietly, args=(here.operators(exchange.dial(0))["send_volume"], sending))
    sender.start()
    try:
        operator = there.operators(exchange.dial(1), checkpoint, sparse=sparse)["receive_volume"]
        return operator(receiving or order(side=1))
    except (Failed, Killed, Superseded) as met:
        return met
    finally:
        sending.cancelled.set()
        exchange.barrier.abort()
        if exchange.made is not None:
            exchange.made[1].close()
        sender.join(20)
        assert not sender.is_alive()


def test_what_is_sent_arrives_and_the_source_stays(here: Place, there: Place) -> None:
    outcome = both(here, there, Exchange())
    assert _same(there.image(TARGET), here.image(SOURCE))
    assert (outcome["cuts"], outcome["resumed_at"], len(outcome["checksum"])) == ("0", "0", 64)
    assert 2 * MIB <= int(outcome["bytes"]) == sent_of(here.image(SOURCE)) < 10 * MIB, "its empty room does not travel"


def test_after_a_cut_it_goes_on_at_the_last_good_chunk(here: Place, there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.daemon.transfer.transfer_protocol.KEEP_EVERY", 1)
    outcome = both(here, there, Exchange(lives=[4, 3, 5]))
    assert _same(there.image(TARGET), here.image(SOURCE))
    assert int(outcome["cuts"]) >= 2 and int(outcome["resumed_at"]) >= 2 * 512 * 1024


@pytest.mark.parametrize(("step", "times"), [("volume-chunk", 2), ("volume-received", 1), ("volume-in-place", 1)])
def test_a_receiver_killed_anywhere_goes_on(here: Place, there: Place, step: str, times: int) -> None:
    assert isinstance(both(here, there, Exchange(), die_at(step, times)), Killed)
    assert there.image(TARGET).exists() == (step == "volume-in-place"), "under its own name only when it is whole"
    outcome = both(here, there, Exchange()) if step == "volume-chunk" else there.receive(order(side=1))
    assert len(outcome["checksum"]) == 64 and _same(there.image(TARGET), here.image(SOURCE))
    assert there.receive(order(side=1)) == outcome, "twice is as once"


def test_a_sender_killed_after_its_look_begins_again(here: Place, there: Place) -> None:
    with pytest.raises(Killed):
        here.operators(checkpoint=die_at("volume-described"))["send_volume"](order())
    assert isinstance(both(here, there, Exchange()), dict)


def test_what_lies_there_from_another_time_is_never_taken_for_what_came(here: Place, there: Place) -> None:
    there.image(TARGET).write_bytes(b"of a move that was given up")
    assert isinstance(both(here, there, Exchange()), dict)
    assert _same(there.image(TARGET), here.image(SOURCE))


def test_nobody_wants_it_any_more(here: Place, there: Place) -> None:
    """Dropped in the moment in which it gets its name, it has none; and another order's folder is left alone."""
    receiving, seen = order(side=1), []

    def checkpoint(name: str) -> None:
        seen.append(name)
        if name == "volume-received":
            receiving.unwanted = True
            receiving.cancelled.set()

    assert isinstance(both(here, there, Exchange(), checkpoint, receiving=receiving), Superseded)
    assert seen[-1] == "volume-received"
    assert there.volumes.leftovers(TARGET) == []
    file = there.root / "came"
    file.write_bytes(b"x")
    late = VolumeTransfer(
        there.volumes,
        root=there.root,
        sparse=True,
        open_peer=lambda *_: pytest.fail("it dialled"),
        checkpoint=lambda name: None,
    )
    with pytest.raises(Superseded):
        late._install(receiving, file, there.image(TARGET))
    assert there.volumes.leftovers(TARGET) == []


def test_a_new_order_does_not_meet_what_an_old_one_left(here: Place, there: Place) -> None:
    assert isinstance(both(here, there, Exchange(), die_at("volume-chunk", 2)), Killed)
    again = order(side=1, key="e" * 32)
    assert isinstance(both(here, there, Exchange(), receiving=again), dict)
    (kept,) = (there.root / "volumes" / "moves").iterdir()
    assert kept.name == f"{TARGET}-{'e' * 32}" and not (kept / FILE).exists()
    there.operators()["clear_volume"](Operation(OperationOrder("d" * 32, "clear_volume", {"volume": TARGET}), print))
    assert there.volumes.leftovers(TARGET) == []


def test_without_room_or_without_the_volume_it_says_so(here: Place, there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_transfer, "HEADROOM", 2**60)
    assert both(here, there, Exchange()).code == "disk_full"
    monkeypatch.undo()
    monkeypatch.setattr(transfer_session, "PAUSE", 0.01)
    assert both(here, there, Exchange(), receiving=order(side=1, size_gb=0)).code == "bad_parcel"
    here.image(SOURCE).unlink()
    with pytest.raises(Failed, match="disk_missing"):
        here.operators()["send_volume"](order())


def test_simulated_hosts_say_that_it_has_arrived() -> None:
    operators = simulated_volume_transfers()
    assert operators["receive_volume"](order(side=1))["simulated"] == "true"
    assert operators["clear_volume"](order()) == {}
