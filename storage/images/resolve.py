"""Images added by name: read from their registry, pinned by digest, and read again before each rent."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.text import slugify

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import StaleRow
from common.ids import new_uuid
from common.transitions import move
from storage.clients.oci_registry.client import read_image
from storage.clients.oci_registry.manifests import Found
from storage.clients.oci_registry.references import ImageName, parse_name
from storage.constants import DROP_IMAGE_WITHIN, IMAGE_BYTES_MAX, IMAGE_FRESH, IMAGES_AT_MOST
from storage.errors import ImageNotReady, ImagePrivate, ImageTooLarge, TooManyImages
from storage.images.selectors import count_images, find_image, login_at, own_by_name, own_image, registry_at, slug_is_taken
from storage.models import Image
from storage.operations.services import MARKET, request_operation
from storage.states import IMAGE_MACHINE, ImageSource, ImageState

GB = 1000**3
DROP = "drop_image"


@dataclass(frozen=True)
class ExaminedImage:
    """Result of reading a name from its registry."""

    name: ImageName
    found: Found
    registry_id: UUID | None


def examine_image(*, owner: User, name: str) -> ExaminedImage:
    """Read an image from its registry, with the owner's login where there is one.

    It makes network requests, so call it outside transactions. Raises InvalidInput for a malformed name, else the
    errors of `storage.errors` about images and registries.
    """
    wanted = parse_name(name)
    registry = registry_at(owner, wanted.registry)
    found = read_image(wanted, login_at(registry))
    if found.size_bytes > IMAGE_BYTES_MAX:
        message = f"It has {found.size_bytes / GB:.1f} GB compressed; up to {IMAGE_BYTES_MAX // GB} GB can be run."
        raise ImageTooLarge(message)
    return ExaminedImage(wanted, found, registry.pk if registry is not None and found.private else None)


def add_image(*, owner: User, examined: ExaminedImage, title: str = "", description: str = "") -> Image:
    """Add an examined image, pinned by its digest; a name that exists already is updated."""
    with use_case():
        if count_images(owner) >= IMAGES_AT_MOST:
            raise TooManyImages(f"You have {IMAGES_AT_MOST} images. Remove one that you no longer use.")
        return _pin(owner, examined, title, description)


def current_image(*, user: User, text: str) -> Image:
    """Return the image that a new rent would run.

    `text` is a slug or a public id. An image that the user added by name is read from its registry again if its last
    check is too old, and pinned anew if its tag has moved. It makes network requests, so call it outside transactions
    and before quoting. Raises NotFound, and what `examine_image` raises.
    """
    image = find_image(text, user)
    if image.source != ImageSource.NAMED or image.owner_id != user.pk or image.shared_id is not None:
        return image
    if image.private and image.registry_id is None:
        raise ImagePrivate(f"The login for {parse_name(image.named_as).registry} was removed. Save it again.")
    if image.checked_at is not None and clock.now() - image.checked_at < IMAGE_FRESH:
        return image
    examined = examine_image(owner=user, name=image.named_as)
    with use_case():
        return _pin(user, examined, "", "")


def remove_image(*, owner: User, image_id: UUID) -> Image:
    """Remove an image so that nobody can rent with it; instances that run it are not affected.

    One that is stored on a host is deleted there, too.
    """
    with use_case():
        image = own_image(owner, image_id)
        if image.state == ImageState.SAVING:
            raise ImageNotReady("It is being saved. Wait until that has ended.")
        if image.state == ImageState.DROPPING:
            return image
        lies = image.host_id is not None and image.state == ImageState.READY
        _move(image, ImageState.DROPPING if lies else ImageState.GONE, active=False, shared=None, slug=_retired(image))
        if lies:
            assert image.host_id is not None
            request_operation(
                host_id=image.host_id,
                owner_id=owner.pk,
                kind=DROP,
                subject=image.pk,
                args={"reference": image.reference},
                within=DROP_IMAGE_WITHIN,
            )
    return image


def _pin(owner: User, examined: ExaminedImage, title: str, description: str) -> Image:
    name, found, now = examined.name, examined.found, clock.now()
    current = own_by_name(owner, name.text)
    reference = name.pinned(found.digest)
    slug = current.slug if current is not None else _new_slug(name)
    if current is not None and current.reference != reference:
        # Instances rented with the old digest keep that row; the name and slug go to the new one.
        Image.objects.filter(pk=current.pk).update(active=False, slug=_retired(current))
        title, description = title or current.title, description or current.description
    columns = {
        **({"title": title} if title else {}),
        **({"description": description} if description else {}),
        "checked_at": now,
        "registry_id": examined.registry_id,
        "private": found.private,
        "active": True,
        "slug": slug,
    }
    fresh = {
        **columns,
        "title": title or name.short[:120],
        "description": description,
        "official": False,
        "source": ImageSource.NAMED,
        "digest": found.digest,
        "size_bytes": found.size_bytes,
        "architectures": list(found.architectures),
        "cuda": found.cuda,
        "has_ssh": "ssh" in found.services,
        "has_jupyter": "jupyter" in found.services,
        "has_tensorboard": "tensorboard" in found.services,
    }
    same = Image.objects.exclude(state=ImageState.GONE)
    image, _made = same.update_or_create(
        owner=owner, reference=reference, named_as=name.text, defaults=columns, create_defaults=fresh
    )
    return image


def _new_slug(name: ImageName) -> str:
    """Return a readable slug that ends in random digits, so that strangers cannot guess it."""
    words = slugify(f"{name.repository.rpartition('/')[2]}-{name.tag.replace('.', '-')}")[:40].strip("-")
    slug = f"{words or 'image'}-{new_uuid().hex[-8:]}"
    if slug_is_taken(slug):
        raise StaleRow("Try again.")
    return slug


def _retired(image: Image) -> str:
    return f"{image.slug[:48]}-{new_uuid().hex[-8:]}"


def _move(image: Image, target: str, **fields: Any) -> None:
    move(image, target, machine=IMAGE_MACHINE, reason=target, actor=MARKET, **fields)
