"""Pictures of changes to an instance: without a GPU, a fresh root to come, under way and failed, another size."""

from common.ids import public_id
from instances.lifecycle.reimage import reimage_instance
from instances.lifecycle.resize import resize_instance
from instances.lifecycle.start_cpu_only import start_without_gpu
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from storage.images.register import register_image
from tests.web.world import World, report


def action_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    title, serves = "PyTorch 2, CUDA 12.1", {"has_jupyter": True, "has_tensorboard": True}
    register_image(slug="pytorch-cuda12", reference="berth/pytorch:1", title=title, **serves)
    bare, fresh, running = (rented_running(world, name) for name in ("cleanup", "fresh-root", "growing"))
    for instance in (bare, fresh):
        stop_instance(renter=world.alice, instance_id=instance.pk)
        report(instance, "stopped")
    start_without_gpu(renter=world.alice, instance_id=bare.pk)
    report(Instance.objects.get(pk=bare.pk), "running")
    reimage_instance(renter=world.alice, instance_id=fresh.pk, image="pytorch-cuda12")
    resize_instance(renter=world.alice, instance_id=running.pk, data_disk_gb=120)
    failed = rented_running(world, "back-again")
    code, detail = "image_missing", "The image berth/pytorch:1 cannot be had: manifest unknown"
    Instance.objects.filter(pk=failed.pk).update(setback_code=code, setback_detail=detail)
    ids = {name: public_id("inst", each.pk) for name, each in (("bare", bare), ("fresh", fresh), ("growing", running))}
    return {
        **{f"action-{name}": ("alice", f"/instances/{key}") for name, key in ids.items()},
        "action-setback": ("alice", f"/instances/{public_id('inst', failed.pk)}"),
        "action-reimage": ("alice", f"/instances/{ids['growing']}/reimage"),
        "action-resize": ("alice", f"/instances/{ids['growing']}/resize"),
        "action-resize-stopped": ("alice", f"/instances/{ids['fresh']}/resize"),
    }


def rented_running(world: World, name: str, *, gpu_count: int = 1) -> Instance:
    offer = world.offer_of("sh-gpu-12")
    quote = create_quote(renter=world.alice, offer_id=offer.pk, image="berth-base", data_disk_gb=20, gpu_count=gpu_count)
    instance = rent_instance(renter=world.alice, quote_id=quote.pk, name=name)
    report(instance, "running")
    return Instance.objects.get(pk=instance.pk)
