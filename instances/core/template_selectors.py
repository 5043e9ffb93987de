"""Reads about launch templates: what instances were rented with them, and what an instance would be as one."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count

from accounts.models import User
from instances.core.endpoints import extra_ports
from instances.core.selectors import instance_of
from instances.launch.store import launch_resource
from instances.models import Instance


@dataclass(frozen=True)
class RunningSettings:
    """What an instance runs; of secrets, `launch` has the names alone."""

    name: str
    image: str
    launch: dict[str, Any]
    ports: list[int]
    udp_ports: list[int]
    data_disk_gb: int


def count_template_uses() -> dict[UUID, int]:
    """Return how many instances were rented with each version of a template, gone ones included."""
    rows = Instance.objects.filter(quote__template_version__isnull=False).order_by()
    counted = rows.values_list("quote__template_version").annotate(uses=Count("pk"))
    return {version_id: uses for version_id, uses in counted if version_id is not None}


def template_of_instance(renter: User, instance_id: UUID) -> RunningSettings:
    """Return what the renter's instance runs, or raise NotFound."""
    instance = instance_of(renter, instance_id)
    return RunningSettings(
        name=instance.name,
        image=instance.image.slug,
        launch=launch_resource(instance.launch) or {},
        ports=[inside for inside, _outside in extra_ports(instance)],
        udp_ports=instance.udp_ports,
        data_disk_gb=instance.data_disk_gb,
    )
