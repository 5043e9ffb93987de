"""Reads of hosts with room for volumes and snapshots, and their price per GB and day."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet

from common.errors import NotFound
from marketplace.models import Host
from marketplace.states import HostState


@dataclass(frozen=True)
class StorageHost:
    """A host that takes volumes; `micros_gb_day` is the lowest price of its listed offers."""

    id: UUID
    name: str
    region: str
    owner_id: UUID
    simulated: bool
    verified: bool
    runtime: str
    disk_kind: str
    disk_free_gb: int
    micros_gb_day: int
    net_up_mbps: int | None
    net_down_mbps: int | None


def storage_hosts() -> list[StorageHost]:
    """Return hosts that are online and listed, by region and name."""
    return [_view(row) for row in _open().order_by("region", "name", "pk")]


def storage_host(host_id: UUID) -> StorageHost:
    """Return a host that takes volumes.

    Raises:
        NotFound: it takes none now.
    """
    row = _open().filter(pk=host_id).first()
    if row is None:
        raise NotFound("This host doesn't accept volumes right now. GET /storage-hosts lists those that do.")
    return _view(row)


def storage_price(host_id: UUID) -> int:
    """Return micro-units per GB and day on this host now, whatever its state; 0 where it offers nothing."""
    lowest: int | None = Host.objects.filter(pk=host_id).aggregate(price=Min("offers__disk_micros_gb_day"))["price"]
    return lowest or 0


def host_owner(host_id: UUID) -> UUID:
    owner: UUID = Host.objects.values_list("owner_id", flat=True).get(pk=host_id)
    return owner


def _open() -> QuerySet[Host]:
    listed = Q(offers__listed=True)
    priced = Host.objects.filter(state=HostState.ONLINE, draining=False, awaits_test=False).annotate(
        price=Min("offers__disk_micros_gb_day", filter=listed), listed=Count("offers", filter=listed)
    )
    return priced.filter(listed__gt=0)


def _view(row: Host) -> StorageHost:
    return StorageHost(
        id=row.pk,
        name=row.name,
        region=row.region,
        owner_id=row.owner_id,
        simulated=row.simulated,
        verified=row.verified,
        runtime=row.runtime,
        disk_kind=row.disk_kind,
        disk_free_gb=row.disk_free_gb,
        micros_gb_day=row.price,  # type: ignore[attr-defined]  # annotated
        net_up_mbps=row.net_up_mbps,
        net_down_mbps=row.net_down_mbps,
    )
