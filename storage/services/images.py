"""The catalogue of images that renters may run."""

from common.database import use_case
from storage.models import Image


def register_image(*, slug: str, reference: str, title: str, **columns: object) -> Image:
    """Add an image to the catalogue, or bring the one with this slug up to date."""
    with use_case():
        image, _ = Image.objects.update_or_create(
            slug=slug, defaults={"reference": reference, "title": title, "active": True, **columns}
        )
    return image
