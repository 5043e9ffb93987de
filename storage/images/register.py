"""The catalogue of images that renters may run."""

from common.db.transactions import use_case
from storage.models import Image


def register_image(*, slug: str, reference: str, title: str, **columns: object) -> Image:
    """Add an image to the catalogue, or bring the one with this slug up to date."""
    with use_case():
        image, _ = Image.objects.update_or_create(
            slug=slug, defaults={"reference": reference, "title": title, "active": True, **columns}
        )
    return image


def follow_build(*, slug: str, built_as: str, reference: str) -> None:
    """Lead the image to what was built for this market; one that has been registered under another name is left alone."""
    with use_case():
        Image.objects.filter(slug=slug, reference__startswith=built_as).exclude(reference=reference).update(
            reference=reference
        )
