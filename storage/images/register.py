"""The catalogue of images: registration of official ones, and counts of rents."""

from collections.abc import Mapping
from uuid import UUID

from common.db.transactions import use_case
from common.jobs import enqueue
from storage.models import Image


def register_image(*, slug: str, reference: str, title: str, **columns: object) -> Image:
    """Add an image to the catalogue, or update the one with this slug."""
    with use_case():
        image, _ = Image.objects.update_or_create(
            slug=slug, defaults={"reference": reference, "title": title, "active": True, **columns}
        )
        enqueue("workloads.follow_official_templates")  # whose versions are of the former reference
    return image


def update_built_reference(*, slug: str, built_as: str, reference: str) -> None:
    """Point the official image to a newly built reference.

    An image whose present reference does not begin with `built_as` was registered by hand and is left alone.
    """
    with use_case():
        Image.objects.filter(slug=slug, reference__startswith=built_as).exclude(reference=reference).update(
            reference=reference
        )
        enqueue("workloads.follow_official_templates")  # whose versions are of the former reference


def record_uses(*, counts: Mapping[UUID, int]) -> int:
    """Write the counts and return how many of them have changed."""
    with use_case():
        rows = [row for row in Image.objects.order_by("pk") if row.use_count != counts.get(row.pk, 0)]
        for row in rows:
            row.use_count = counts.get(row.pk, 0)
        Image.objects.bulk_update(rows, ["use_count"], batch_size=500)
    return len(rows)
