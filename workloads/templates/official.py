"""Creation of the official templates: a sweep makes one for each kind of official image, and keeps it up to date."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from common.db.transactions import use_case
from storage.images.selectors import active_images
from workloads.models import LaunchTemplate
from workloads.states import Review, Visibility
from workloads.templates.content import read_content
from workloads.templates.official_list import MODEL_GRACE_S, OFFICIAL, Official
from workloads.templates.services import add_version

if TYPE_CHECKING:
    from storage.models import Image


def register_official_templates() -> int:
    """Create or update the official templates whose images are registered; return how many were changed.

    Running it again changes nothing. A template whose image is gone is hidden until there is one again.
    """
    images = [image for image in active_images() if image.official]
    changed = 0
    for one in OFFICIAL:
        fitting = [image for image in images if image.slug.startswith(one.image)]
        image = max(fitting, key=_newest_with_cuda, default=None)
        with use_case():
            changed += _hide(one) if image is None else _register(one, image.slug, image.cuda)
    return changed


def _newest_with_cuda(image: "Image") -> tuple[bool, datetime]:
    """Return the order in which images are preferred: those for GPUs, then the last one that was registered."""
    return bool(image.cuda), image.created_at


def _hide(one: Official) -> int:
    found = LaunchTemplate.objects.filter(owner=None, slug=one.slug, newest__isnull=False)
    return found.update(newest=None, published=None)


def _register(one: Official, image: str, cuda: str) -> int:
    data: dict[str, Any] = {
        "image": image,
        "readme": one.readme,
        "min_vram_gb": one.min_vram_gb,
        "min_cuda": cuda,
        "data_disk_gb": one.data_disk_gb,
        "inputs": list(one.inputs),
        "ports": [] if one.port is None else [one.port],
        "launch": {"readiness": _readiness(one)} if one.ready_at else {},
    }
    content, row = read_content(None, data)
    described = {"title": one.title, "icon": one.icon, "description": one.description, "category": one.category}
    template, made = LaunchTemplate.objects.get_or_create(
        owner=None, slug=one.slug, deleted_at=None, defaults={**described, "visibility": Visibility.PUBLIC}
    )
    before = template.newest_id
    version = add_version(template, content, row)
    if not made and before == version.pk:
        return 0
    version.review = Review.APPROVED
    version.save(update_fields=["review"])
    template.published = version
    for name, value in described.items():
        setattr(template, name, value)
    template.save(update_fields=["published", *described])
    return 1


def _readiness(one: Official) -> dict[str, Any]:
    port = 0 if one.port is None else one.port["port"]
    return {"type": "http", "port": port, "path": one.ready_at, "grace_seconds": MODEL_GRACE_S}
