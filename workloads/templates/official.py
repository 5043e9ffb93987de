"""Official templates: one for each kind of official image that is registered, made and kept up to date by a sweep."""

from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_noop

from common.db.transactions import use_case
from storage.images.selectors import active_images
from workloads.models import LaunchTemplate
from workloads.states import Category, Review, Visibility
from workloads.templates.content import read_content
from workloads.templates.services import add_version


@dataclass(frozen=True)
class Official:
    """A template for the official images whose slug begins with `image`."""

    slug: str
    image: str
    title: str
    icon: str
    category: str
    description: str
    readme: str
    min_vram_gb: int | None = None


OFFICIAL: Final = (
    Official(
        slug="ssh-jupyter",
        image="berth-base",
        title="SSH + JupyterLab",
        icon="🧰",
        category=Category.DEVELOPMENT,
        description=gettext_noop("A plain system with SSH, JupyterLab and TensorBoard."),
        readme=gettext_noop(
            "# SSH + JupyterLab\n\n"
            "JupyterLab opens from the page of the instance, and SSH works with your keys.\n\nFiles in `/data` stay.\n\n"
            "Install what you need with `apt` and `pip`.\n"
        ),
    ),
    Official(
        slug="pytorch",
        image="pytorch",
        title="PyTorch",
        icon="🔥",
        category=Category.TRAINING,
        description=gettext_noop("PyTorch with CUDA, JupyterLab and SSH."),
        readme=gettext_noop(
            "# PyTorch\n\n"
            "JupyterLab opens from the page of the instance, and SSH works with your keys.\n\nFiles in `/data` stay.\n\n"
            "Check that it sees the GPU:\n\n```\npython -c 'import torch; print(torch.cuda.is_available())'\n```\n"
        ),
        min_vram_gb=4,
    ),
    Official(
        slug="tensorflow",
        image="tensorflow",
        title="TensorFlow",
        icon="🧠",
        category=Category.TRAINING,
        description=gettext_noop("TensorFlow with CUDA, JupyterLab and SSH."),
        readme=gettext_noop(
            "# TensorFlow\n\n"
            "JupyterLab opens from the page of the instance, and SSH works with your keys.\n\nFiles in `/data` stay.\n\n"
            "TensorBoard shows the logs in `/data/tf-logs`.\n"
        ),
        min_vram_gb=4,
    ),
)


def register_official_templates() -> int:
    """Create or update the official templates whose images are registered; return how many were changed.

    Running it again changes nothing. A template whose image is gone is hidden until there is one again.
    """
    images = [image for image in active_images() if image.official]
    changed = 0
    for one in OFFICIAL:
        image = next((image for image in images if image.slug.startswith(one.image)), None)
        with use_case():
            changed += _hide(one) if image is None else _register(one, image.slug, image.cuda)
    return changed


def _hide(one: Official) -> int:
    found = LaunchTemplate.objects.filter(owner=None, slug=one.slug, newest__isnull=False)
    return found.update(newest=None, published=None)


def _register(one: Official, image: str, cuda: str) -> int:
    data: dict[str, Any] = {
        "image": image,
        "readme": one.readme,
        "min_vram_gb": one.min_vram_gb,
        "min_cuda": cuda,
        "data_disk_gb": 20,
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
