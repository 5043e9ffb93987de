"""Progress of image pulls on hosts, kept while they last."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from common.db.transactions import use_case
from storage.constants import LAYERS_SHOWN, PULL_KEPT
from storage.images.selectors import old_pulls
from storage.models import ImagePull


class Layer(Protocol):
    """One layer of an image; see the protocol's LayerProgress."""

    @property
    def id(self) -> str: ...
    @property
    def done_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int: ...
    @property
    def step(self) -> str: ...


@dataclass(frozen=True)
class PullRow:
    """An agent's report of the pull of one instance's image."""

    instance_id: UUID
    layers: Sequence[Layer]


_STEPS = frozenset({"waiting", "downloading", "downloaded", "unpacking", "ready"})


def record_pulls(*, host_id: UUID, rows: Iterable[PullRow], at: datetime) -> None:
    """Store the pull progress that a host reports; without any, no query is made."""
    reported = [_row(host_id, row, at) for row in rows if row.layers]
    if not reported:
        return
    with use_case():
        ImagePull.objects.bulk_create(
            reported,
            update_conflicts=True,
            unique_fields=["instance_id"],
            update_fields=["host", "done_bytes", "total_bytes", "layers", "at"],
        )


def delete_old_pulls(*, now: datetime) -> int:
    """Delete the progress of pulls that no host has reported for PULL_KEPT and return their number."""
    with use_case():
        count, _ = old_pulls(now - PULL_KEPT).delete()
    return count


def _row(host_id: UUID, row: PullRow, at: datetime) -> ImagePull:
    kept = row.layers[:LAYERS_SHOWN]
    layers = [
        [layer.id[:12], max(0, layer.done_bytes), max(0, layer.total_bytes), layer.step if layer.step in _STEPS else ""]
        for layer in kept
    ]
    done, total = (sum(max(0, layer.done_bytes) for layer in kept), sum(max(0, layer.total_bytes) for layer in kept))
    return ImagePull(instance_id=row.instance_id, host_id=host_id, done_bytes=done, total_bytes=total, layers=layers, at=at)
