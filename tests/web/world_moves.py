"""Instances that are cloned and moved, and the pages on which that is asked for, for pictures."""

from agents.gateway.stored_messages import stored_detail
from billing.ledger.wallets import grant_credit
from common import clock
from common.ids import public_id
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.transfers.start import Destination, clone_instance, migrate_instance
from marketplace.models import Host
from storage.models import Operation
from storage.operations.services import OperationRow, record_operations
from tests.web.world import UNIT, World, keep_alive, report

GIB = 1024**3


def move_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    grant_credit(owner_id=world.alice.pk, amount_micros=300 * UNIT, actor="staff", key="moves", memo="For moves")
    keep_alive(world.hosts)
    here, there = world.hosts["lab-03"], world.hosts["sh-gpu-12"]
    still, cloned, moved = (_stopped(world, here, name) for name in ("baseline", "finetune-zh", "long-context"))
    to = Destination(offer_id=there.offers.order_by("price_micros")[0].pk, gpu_count=1)
    copy = clone_instance(renter=world.alice, instance_id=cloned.pk, to=Destination(), name="finetune-zh-2")
    migrate_instance(renter=world.alice, instance_id=moved.pk, to=to)
    _tell("copy_root", 7 * GIB, 20 * GIB, "Copying the data disk.")
    _tell("receive_root", int(31.4 * GIB), 43 * GIB, "Cut off: the other host closed the line. Dialling again.")
    ids = {name: public_id("inst", each.pk) for name, each in (("still", still), ("twin", copy), ("moved", moved))}
    return {
        "move-clone": ("alice", f"/instances/{ids['still']}/clone"),
        "move-migrate": ("alice", f"/instances/{ids['still']}/migrate"),
        "move-not-now": ("alice", f"/instances/{ids['moved']}/migrate"),
        "move-cloning": ("alice", f"/instances/{ids['twin']}"),
        "move-moving": ("alice", f"/instances/{ids['moved']}"),
        "move-stopped": ("alice", f"/instances/{ids['still']}"),
    }


def _stopped(world: World, host: Host, name: str) -> Instance:
    quote = create_quote(
        renter=world.alice, offer_id=host.offers.order_by("price_micros")[0].pk, image="berth-base", data_disk_gb=20
    )
    instance = rent_instance(renter=world.alice, quote_id=quote.pk, name=name)
    report(instance, "running")
    stop_instance(renter=world.alice, instance_id=instance.pk)
    report(instance, "stopped")
    return instance


def _tell(kind: str, done: int, total: int, detail: str) -> None:
    operation = Operation.objects.get(kind=kind, ended_at=None)
    row = OperationRow(operation.pk, "running", done_bytes=done, total_bytes=total, detail=stored_detail(detail))
    record_operations(host_id=operation.host_id, rows=[row], at=clock.now())
