"""Reads of which GPUs are leased to whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, QuerySet

from marketplace.models import Lease


@dataclass(frozen=True)
class LiveLease:
    """One GPU that is leased to one holder."""

    holder: UUID
    gpu_uuid: str
    gpu_model: str
    host_id: UUID
    offer_id: UUID


@dataclass(frozen=True)
class LeaseSpan:
    """One GPU leased to one holder over a period; the end is None while it lasts."""

    holder: UUID
    gpu_uuid: str
    gpu_model: str
    host_id: UUID
    leased_at: datetime
    released_at: datetime | None


def lease_spans(holders: Sequence[UUID]) -> list[LeaseSpan]:
    """Return every lease that these holders ever had, ordered by start and by the GPU's index in its host."""
    rows = Lease.objects.filter(holder__in=holders).order_by("leased_at", "gpu__index", "gpu__uuid")
    columns = ("holder", "gpu__uuid", "gpu__model", "gpu__host_id", "leased_at", "released_at")
    return [LeaseSpan(*row) for row in rows.values_list(*columns)]


def live_leases_of(holder: UUID) -> list[LiveLease]:
    """Return the holder's GPUs, in the order of their indexes in the host."""
    return _rows(Lease.objects.filter(holder=holder))


def live_leases() -> list[LiveLease]:
    """Return all live leases, for the sweep that compares them with what their holders say."""
    return _rows(Lease.objects.all())


def _rows(leases: QuerySet[Lease]) -> list[LiveLease]:
    rows = leases.filter(released_at__isnull=True).order_by("gpu__index", "gpu__uuid")
    columns = rows.values(
        "holder", "offer_id", gpu_uuid=F("gpu__uuid"), gpu_model=F("gpu__model"), host_id=F("gpu__host_id")
    )
    return [LiveLease(**row) for row in columns]
