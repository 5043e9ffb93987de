"""How instances are printed, alone and in lists."""

from typing import TYPE_CHECKING

from berth.cli.framework import session
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.InstanceOut]]" = (
    Column("NAME", lambda each: each.name or "-"),
    Column("ID", lambda each: each.id[:13]),
    Column("STATE", lambda each: each.state + ("" if each.reachable or each.state != "running" else " (host silent)")),
    Column("GPU", lambda each: "none" if each.without_gpu else f"{each.gpu.count} × {each.gpu.model}"),
    Column("PER HOUR", lambda each: each.billing.hourly_rate, right=True),
    Column("COST", lambda each: each.billing.cost_so_far, right=True),
    Column("HOST", lambda each: each.host.name),
    Column("REGION", lambda each: each.host.region),
    Column("IMAGE", lambda each: each.image),
    Column("CREATED", lambda each: each.created_at),
    Column("SSH", lambda each: each.access.ssh.command if each.access.ssh else None, wide=True),
    Column("FULL ID", lambda each: each.id, wide=True),
)


def show_instance(instance: "models.InstanceOut") -> None:
    """Print one instance in the session's format."""
    failure, spot = instance.failure, instance.billing.spot
    facts = [
        ("Name", instance.name),
        ("ID", instance.id),
        ("State", instance.state + (f" ({instance.progress})" if instance.progress else "")),
        ("Failure", f"{failure.detail} ({failure.code}, by {failure.fault_of})" if failure else None),
        ("GPUs", f"{instance.gpu.count} × {instance.gpu.model}"),
        ("CPU and memory", f"{instance.cpu_cores:g} cores, {instance.ram_gb:g} GB"),
        ("Host", f"{instance.host.name} in {instance.host.region}" + (" (simulated)" if instance.host.simulated else "")),
        ("Image", instance.image),
        ("Data disk", f"{instance.data_disk_gb} GB" if instance.data_disk_gb else None),
        (
            "Billing",
            f"{instance.billing.mode}, {instance.billing.hourly_rate} per hour, {instance.billing.cost_so_far} so far",
        ),
        ("Bid", f"at most {spot.max_price} per GPU and hour, now {spot.price or 'none'} ({spot.state})" if spot else None),
        ("Interrupted at", spot.yields_at if spot else None),
        ("SSH", instance.access.ssh.command if instance.access.ssh else None),
        ("Jupyter", instance.access.jupyter_url),
        ("Data is kept until", instance.release_at),
        ("Locked", True if instance.locked else None),
        ("Created", instance.created_at),
    ]
    session().out.facts(instance, facts, name=instance.name or instance.id)
