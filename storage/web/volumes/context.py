"""Template contexts of the image pages."""

from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Page, Paginator

from accounts.models import User
from storage.images.selectors import community_images, own_images, registries_of, uses_of_shared
from storage.models import Image, SharedImage
from storage.web.volumes.forms import ImageForm, RegistryForm

_ROWS = 30


@dataclass
class SharedImageVersions:
    """One name of the community list with its versions, the newest first."""

    shared: SharedImage
    uses: int = 0
    versions: list[Image] = field(default_factory=list)

    @property
    def newest(self) -> Image:
        return self.versions[0]


def images_context(user: User, *, page: str | None) -> dict[str, Any]:
    """Return the context of a user's own images and logins, with the forms for new ones."""
    rows = Paginator(own_images(user), _ROWS).get_page(page)
    return {
        "page": rows,
        "images": rows.object_list,
        "registries": registries_of(user),
        "form": ImageForm(),
        "registry_form": RegistryForm(),
        "refused": None,
        "registry_refused": None,
    }


def community_context(*, words: str, page: str | None) -> dict[str, Any]:
    """Return the context of the community list, the most used first."""
    shelves: dict[object, SharedImageVersions] = {}
    for image in community_images():
        assert image.shared is not None
        shelves.setdefault(image.shared_id, SharedImageVersions(image.shared)).versions.append(image)
    uses = uses_of_shared([shelf.shared.pk for shelf in shelves.values()])
    for shelf in shelves.values():
        shelf.uses = uses.get(shelf.shared.pk, 0)
        shelf.versions.sort(key=lambda image: -image.version)
    found = [shelf for shelf in shelves.values() if _matches(shelf, words)]
    found.sort(key=lambda shelf: (-shelf.uses, shelf.shared.slug))
    rows: Page[SharedImageVersions] = Paginator(found, _ROWS).get_page(page)
    return {"page": rows, "shelves": rows.object_list, "words": words}


def _matches(shelf: SharedImageVersions, words: str) -> bool:
    text = f"{shelf.shared.slug} {shelf.shared.title} {shelf.shared.description}".lower()
    return all(word in text for word in words.lower().split())
