"""Who holds which GPU now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, QuerySet

from marketplace.models import Lease


@dataclass(frozen=True)
class LiveLease:
    """One GPU in the hands of one holder."""

    holder: UUID
    gpu_uuid: str
    gpu_model: str
    host_id: UUID
    offer_id: UUID


@dataclass(frozen=True)
class LeaseSpan:
    """One GPU in the hands of one holder, from when to when (None: still)."""

    holder: UUID
    gpu_uuid: str
    gpu_model: str
    host_id: UUID
    leased_at: datetime
    released_at: datetime | None


def lease_spans(holders: Sequence[UUID]) -> list[LeaseSpan]:
    """Every lease that these holders ever had, in the order of the GPUs' places in their hosts."""
    rows = Lease.objects.filter(holder__in=holders).order_by("leased_at", "gpu__index", "gpu__uuid")
    columns = ("holder", "gpu__uuid", "gpu__model", "gpu__host_id", "leased_at", "released_at")
    return [LeaseSpan(*row) for row in rows.values_list(*columns)]


def live_leases_of(holder: UUID) -> list[LiveLease]:
    """The holder's GPUs, in the order of their places in the host."""
    return _rows(Lease.objects.filter(holder=holder))


def live_leases() -> list[LiveLease]:
    """All of them, for the sweep that compares leases with what their holders say."""
    return _rows(Lease.objects.all())


def _rows(leases: QuerySet[Lease]) -> list[LiveLease]:
    rows = leases.filter(released_at__isnull=True).order_by("gpu__index", "gpu__uuid")
    columns = rows.values(
        "holder", "offer_id", gpu_uuid=F("gpu__uuid"), gpu_model=F("gpu__model"), host_id=F("gpu__host_id")
    )
    return [LiveLease(**row) for row in columns]
