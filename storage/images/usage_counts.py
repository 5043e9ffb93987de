"""Counts of rents per image, which `instances` computes."""

from collections.abc import Mapping
from uuid import UUID

from common.db.transactions import use_case
from storage.models import Image


def record_uses(*, counts: Mapping[UUID, int]) -> int:
    """Write the counts and return how many of them have changed."""
    with use_case():
        rows = [row for row in Image.objects.order_by("pk") if row.use_count != counts.get(row.pk, 0)]
        for row in rows:
            row.use_count = counts.get(row.pk, 0)
        Image.objects.bulk_update(rows, ["use_count"], batch_size=500)
    return len(rows)
