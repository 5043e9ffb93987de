"""Community images, which their owners share with everyone, version by version."""

from uuid import UUID

from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import wrong_field
from storage.errors import ImageNameTaken, ImageNotReady, ImageNotShareable
from storage.images.selectors import own_image, shared_by_slug, versions_of
from storage.models import Image, SharedImage
from storage.states import ImageState

_NAME_MOST = 60


def share_image(*, owner: User, image_id: UUID, name: str, title: str = "", description: str = "") -> Image:
    """Share an image as a version of a name.

    The first image under a name reserves it for its owner; later ones of the same owner become new versions.
    """
    slug = slugify(name)[:_NAME_MOST]
    if not slug:
        raise wrong_field("name", _("Use letters, digits and hyphens."))
    with use_case():
        image = own_image(owner, image_id)
        _check_shareable(image)
        shared = _shared_name(owner, slug, title or name, description)
        if image.shared_id != shared.pk:
            image.shared, image.shared_at = shared, clock.now()
            newest = versions_of(shared).values_list("version", flat=True).first()
            image.version = (newest or 0) + 1
            image.save(update_fields=["shared", "shared_at", "version"])
    return image


def unshare_image(*, owner: User, image_id: UUID) -> Image:
    """Withdraw a version, so that nobody else can rent with it.

    A name without versions leaves the community list, but stays reserved for its owner.
    """
    with use_case():
        image = own_image(owner, image_id)
        shared = image.shared
        if shared is None:
            return image
        image.shared, image.shared_at = None, None
        image.save(update_fields=["shared", "shared_at"])
        if not versions_of(shared).exists():
            SharedImage.objects.filter(pk=shared.pk).update(withdrawn_at=clock.now())
    return image


def _check_shareable(image: Image) -> None:
    if image.state != ImageState.READY:
        raise ImageNotReady("Only an image that is ready can be shared.")
    if image.private:
        raise ImageNotShareable(
            "It is read with your login, which others do not have. Share what you save from an instance."
        )


def _shared_name(owner: User, slug: str, title: str, description: str) -> SharedImage:
    shared = shared_by_slug(slug)
    if shared is None:
        return SharedImage.objects.create(owner=owner, slug=slug, title=title[:120], description=description[:1000])
    if shared.owner_id != owner.pk:
        raise ImageNameTaken(f"{slug} is the name of someone else's image. Choose another one.")
    shared.withdrawn_at = None
    shared.title = title[:120] or shared.title
    shared.description = description[:1000] or shared.description
    shared.save(update_fields=["withdrawn_at", "title", "description"])
    return shared
