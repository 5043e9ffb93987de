"""A volume on real loop devices: made larger while it is mounted, then carried to another host with a cut. Needs root."""

import hashlib
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks import ext4
from agents.daemon.disks.grow import VOLUME_KIND, Growth
from agents.daemon.disks.loop_disks import LoopDisks
from agents.daemon.disks.operation_runner import Operation
from agents.daemon.disks.volume_store import LoopVolumes
from agents.daemon.lib.sizes import GIB
from agents.daemon.transfer import transfer_session
from agents.daemon.transfer.volume_transfer import VolumeTransfer
from agents.protocol.messages import Mount, OperationOrder
from tests.agents.daemon.transfer.test_instance_transfer import Exchange
from tests.agents.daemon.transfer.test_transfer_protocol import KEY

pytestmark = pytest.mark.docker
ID = uuid.uuid4().hex


@pytest.fixture
def hosts(engine: Any, tmp_path: Path) -> Iterator[tuple[LoopVolumes, LoopVolumes]]:
    made = LoopVolumes(tmp_path / "one", sparse=True), LoopVolumes(tmp_path / "two", sparse=True)
    yield made
    for each in made:
        each.volumes.delete(ID)


def operation(kind: str, **args: str) -> Operation:
    return Operation(OperationOrder(uuid.uuid4().hex, kind, args), lambda urgent: None)


def test_a_volume_grows_and_goes_to_another_host(
    hosts: tuple[LoopVolumes, LoopVolumes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_session, "PAUSE", 0.01)
    one, two = hosts
    content = os.urandom(16 * 1024 * 1024)
    one.volumes.make(ID, 1)
    (one.volumes.mount(ID) / "model").write_bytes(content)
    growth = Growth(LoopDisks(one.root, sparse=True), sparse=True, checkpoint=lambda name: None, volumes=one.volumes)
    assert growth.operators()[VOLUME_KIND](operation(VOLUME_KIND, volume=ID, size_gb="2"))["size_gb"] == "2"

    exchange = Exchange(lives=[12])
    args = {"source": ID, "target": ID, "size_gb": "2", "pair": "p" * 32, "key": KEY.hex()}
    sides = [
        VolumeTransfer(
            host.volumes, root=host.root, sparse=True, open_peer=exchange.dial(side), checkpoint=lambda name: None
        )
        for side, host in enumerate(hosts)
    ]
    sender = threading.Thread(target=sides[0].send, args=(operation("send_volume", ticket="ticket-0", **args),))
    sender.start()
    outcome = sides[1].receive(operation("receive_volume", ticket="ticket-1", **args))
    sender.join(20)
    assert outcome["cuts"] == "1" and len(outcome["checksum"]) == 64

    image, _mount = one.volumes.paths(ID)
    assert subprocess.run(["e2fsck", "-f", "-n", image], capture_output=True, check=False).returncode == 0, "untouched"
    (bind,) = two.bind([Mount(ID, "volume", "models", 2)])
    assert hashlib.sha256((Path(bind.source) / "model").read_bytes()).digest() == hashlib.sha256(content).digest()
    assert ext4.size_of_system(two.volumes.paths(ID)[0]) == 2 * GIB
    sides[0].clear(operation("clear_volume", volume=ID))
    assert one.volumes.leftovers(ID) == []
