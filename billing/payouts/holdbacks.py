"""Holds back what a host earned from one source until staff have decided about it."""

from uuid import UUID

from billing.models import Holdback
from common import clock


def hold_back(*, owner_id: UUID, source_kind: str, source_id: UUID) -> None:
    """Hold back the earnings from a source, inside the caller's transaction; repeating it changes nothing."""
    row = Holdback(owner_id=owner_id, source_kind=source_kind, source_id=source_id)
    Holdback.objects.bulk_create([row], ignore_conflicts=True)


def let_go(*, source_kind: str, source_id: UUID) -> None:
    open_ones = Holdback.objects.filter(source_kind=source_kind, source_id=source_id, closed_at=None)
    open_ones.update(closed_at=clock.now())
