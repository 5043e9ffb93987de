"""Which images there are to choose from."""

from uuid import UUID

from django.db.models import QuerySet

from common.errors import NotFound
from common.ids import parse_public_id
from storage.models import Image

PREFIX = "img"


def active_images() -> QuerySet[Image]:
    """Images that a new instance may run, by slug."""
    return Image.objects.filter(active=True)


def image_by_id(image_id: UUID) -> Image:
    return _one(active_images().filter(pk=image_id))


def image_by_slug(slug: str) -> Image:
    return _one(active_images().filter(slug=slug))


def find_image(text: str) -> Image:
    """The active image with this slug or public id (`img_…`). Raises NotFound."""
    if text.startswith(f"{PREFIX}_"):
        return image_by_id(parse_public_id(PREFIX, text))
    return image_by_slug(text)


def cuda_of_image(text: str) -> str:
    """The CUDA version that an image was built for, "" for none. Raises NotFound."""
    return find_image(text).cuda


def _one(images: QuerySet[Image]) -> Image:
    image = images.first()
    if image is None:
        raise NotFound("There is no such image. GET /images lists what can be run.")
    return image
