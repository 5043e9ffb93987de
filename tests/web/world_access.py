"""Instances whose ways in were chosen, and a log to read, for pictures."""

from datetime import timedelta

from common import clock
from common.ids import public_id
from instances.access.credentials import change_access, set_password
from instances.access.logs import LogSearch
from instances.models import LogRead
from tests.web.world import World

SAID = (
    "Server listening on 0.0.0.0 port 22.",
    "Accepted publickey for root from 203.0.113.7 port 52114 ssh2: ED25519 SHA256:4dqPu0",
    "Jupyter Server 2.17.0 is running at: http://0.0.0.0:8888/lab",
    "epoch 1/40  loss 2.3817  lr 3.0e-04  1.9 it/s",
    "epoch 2/40  loss 1.9042  lr 2.9e-04  1.9 it/s",
    "训练数据已加载：48,213 个样本",
    "WARNING: the validation set holds 3 samples that are in the training set too; they are left out: " + "a1b2c3 " * 20,
)


def access_pages(world: World) -> dict[str, tuple[str, str]]:
    running, stopped = world.instances["running"], world.instances["stopped"]
    change_access(
        renter=world.alice, instance_id=running.pk, networks=["203.0.113.0/24", "2001:db8::/32"], ports=[7860, 8000]
    )
    set_password(renter=world.alice, instance_id=running.pk)
    change_access(renter=world.alice, instance_id=stopped.pk, ports=[7860])
    now = clock.now()
    for tail, q in ((200, ""), (200, "epoch")):
        lines = [[f"{now + timedelta(seconds=n):%Y-%m-%dT%H:%M:%S.000000000Z}", text] for n, text in enumerate(SAID)]
        found = [line for line in lines if q in line[1]]
        search = LogSearch(tail=tail, q=q)
        LogRead.objects.create(instance=running, question=search.question, lines=found, cut=not q, read_at=now)
    ids = {name: public_id("inst", world.instances[name].pk) for name in ("running", "stopped", "failed")}
    return {
        "access": ("alice", f"/instances/{ids['running']}/access"),
        "access-stopped": ("alice", f"/instances/{ids['stopped']}/access"),
        "log": ("alice", f"/instances/{ids['running']}/logs"),
        "log-search": ("alice", f"/instances/{ids['running']}/logs?q=epoch"),
        "log-empty": ("alice", f"/instances/{ids['failed']}/logs"),
    }
