"""Reads of images, of registry logins, of pull progress, and of copies of an instance's data."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet, Sum

from accounts.models import User
from common.encryption import decrypt
from common.errors import NotFound
from common.ids import parse_public_id
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.search.index.cuda_versions import version_number
from storage.clients.oci_registry.client import Login
from storage.constants import IMAGE_UNPACKED, IMAGE_UNPACKS_TO, PREFETCHED_AT_MOST
from storage.models import Image, ImagePull, Registry, SharedImage, Sync
from storage.states import ImageSource, ImageState, SyncDirection, SyncState

PREFIX = "img"
REGISTRY_PREFIX = "reg"
LOGIN_REMOVED = "The login for its registry was removed. Save it again to use this image."
_GB = 1000**3
_OFFERED = Q(active=True, state=ImageState.READY)
_OFFICIAL = Q(source=ImageSource.OFFICIAL)
_SHARED = Q(shared__isnull=False, shared__withdrawn_at=None)


def active_images(user: User | None = None) -> QuerySet[Image]:
    """Return the official images that a new instance may run, by slug, then those of the user."""
    own = Q(owner=user) if user is not None else Q(pk=None)
    return Image.objects.filter(_OFFERED & (_OFFICIAL | own)).select_related("shared").order_by("-official", "slug")


def images_to_prefetch() -> list[tuple[str, int]]:
    """Return reference and compressed size (bytes, 0: unknown) of images that hosts pull in advance.

    The most rented come first. They are official images that need no login and are pinned by digest.
    """
    pinned = Image.objects.filter(_OFFERED & _OFFICIAL, private=False, reference__contains="@sha256:")
    return list(pinned.order_by("-use_count", "slug").values_list("reference", "size_bytes")[:PREFETCHED_AT_MOST])


def usable_images(user: User | None) -> QuerySet[Image]:
    """Return all images that the user may run: official, their own, and the community's."""
    own = Q(owner=user) if user is not None else Q(pk=None)
    return Image.objects.filter(_OFFERED & (_OFFICIAL | _SHARED | own)).select_related("shared", "owner")


def community_images() -> QuerySet[Image]:
    """Return every version of every community image, newest first."""
    return Image.objects.filter(_OFFERED & _SHARED).select_related("shared", "owner", "host").order_by("-pk")


def images_from(source: str, user: User | None) -> QuerySet[Image]:
    """Return the `official`, `own` or `community` images, or for "" all that the user may run."""
    match source:
        case "official":
            return usable_images(None).filter(_OFFICIAL)
        case "community":
            return usable_images(None).filter(_SHARED)
        case "own":
            return own_images(user) if user is not None else Image.objects.none()
        case _:
            return usable_images(user)


def visible_image(user: User, image_id: UUID) -> Image:
    """Return an image that the user may run or owns, or raise NotFound."""
    own = own_images(user).filter(pk=image_id).first()
    return own or image_by_id(image_id, user)


def own_images(owner: User) -> QuerySet[Image]:
    """Return the images that a user has added or saved, newest first, without replaced digests of a name."""
    under_way = Q(state__in=[ImageState.SAVING, ImageState.FAILED, ImageState.DROPPING])
    return (
        Image.objects.filter(Q(owner=owner) & (_OFFERED | under_way))
        .select_related("shared", "owner", "host", "registry")
        .order_by("-created_at", "-pk")
    )


def own_image(owner: User, image_id: UUID) -> Image:
    """Return an image of this owner; raise NotFound for any other, existing or not."""
    return _one(own_images(owner).filter(pk=image_id))


def image_by_id(image_id: UUID, user: User | None = None) -> Image:
    return _one(usable_images(user).filter(pk=image_id))


def image_by_slug(slug: str, user: User | None = None) -> Image:
    return _one(usable_images(user).filter(slug=slug))


def find_image(text: str, user: User | None = None) -> Image:
    """Return the image with this slug or public id (`img_…`) that `user` may run, or raise NotFound."""
    if text.startswith(f"{PREFIX}_"):
        return image_by_id(parse_public_id(PREFIX, text), user)
    return image_by_slug(text, user)


def image_needs(text: str) -> ImageNeeds:
    """Return the requirements of the image with this slug or public id.

    Any user's image can be named, since this serves the public market filter: the slug of a private image ends in
    random digits, and nothing but the requirements is shown. Raises NotFound, also for an image that no host could
    pull.
    """
    condition = Q(pk=parse_public_id(PREFIX, text)) if text.startswith(f"{PREFIX}_") else Q(slug=text)
    image = _one(Image.objects.filter(_OFFERED & condition))
    if lacks_login(image):
        raise NotFound(LOGIN_REMOVED)
    return needs_of_image(image)


def needs_of_image(image: Image) -> ImageNeeds:
    """Return what the image needs of a host; one that is stored on a host needs no more disk there."""
    room_gb = -(-image.size_bytes * IMAGE_UNPACKS_TO // _GB) if image.host_id is None else 0
    return ImageNeeds(cuda=version_number(image.cuda), room_gb=room_gb, host_id=image.host_id)


def lacks_login(image: Image) -> bool:
    """Return whether the image can only be read with a login that its owner has removed."""
    return image.private and image.registry_id is None and image.source == ImageSource.NAMED


def own_by_name(owner: User, named_as: str) -> Image | None:
    """Return the present row of a name; rows of its earlier digests are not active."""
    return Image.objects.filter(owner=owner, named_as=named_as, active=True, state=ImageState.READY).first()


def count_images(owner: User) -> int:
    return own_images(owner).count()


def count_saved_on(owner: User, host_id: UUID) -> int:
    """Return how many saved images of this user are on the host's own disk."""
    kept = Image.objects.filter(owner=owner, host_id=host_id, source=ImageSource.SAVED)
    return kept.exclude(state=ImageState.GONE).count()


def unpacked_bytes(image: Image) -> int:
    """Return the most bytes that the unpacked image may take on a disk, as far as known."""
    return max(IMAGE_UNPACKED, image.size_bytes * IMAGE_UNPACKS_TO)


def slug_is_taken(slug: str) -> bool:
    return Image.objects.filter(slug=slug).exists()


def saving_of(instance_id: UUID) -> Image | None:
    return Image.objects.filter(saved_from=instance_id, state=ImageState.SAVING).first()


def shared_by_slug(slug: str) -> SharedImage | None:
    return SharedImage.objects.filter(slug=slug).first()


def versions_of(shared: SharedImage) -> QuerySet[Image]:
    return Image.objects.filter(shared=shared).order_by("-version")


def uses_of_shared(shared_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return how often each shared image was rented, summed over its versions."""
    rows = Image.objects.filter(shared_id__in=shared_ids).order_by().values_list("shared_id").annotate(Sum("use_count"))
    return {key: count for key, count in rows if key is not None}


def registries_of(owner: User) -> QuerySet[Registry]:
    return Registry.objects.filter(owner=owner)


def registry_of(owner: User, registry_id: UUID) -> Registry:
    """Return a registry login of this owner; raise NotFound for any other, existing or not."""
    found = registries_of(owner).filter(pk=registry_id).first()
    if found is None:
        raise NotFound("This registry doesn't exist.")
    return found


def registry_at(owner: User, host: str) -> Registry | None:
    return registries_of(owner).filter(host=host).first()


def login_at(registry: Registry | None) -> Login | None:
    return Login(registry.username, decrypt(registry.sealed_password)) if registry is not None else None


def pull_of(instance_id: UUID) -> ImagePull | None:
    """Return the last reported progress of the instance's image pull, or None if there is none."""
    return ImagePull.objects.filter(pk=instance_id).first()


def old_pulls(before: datetime) -> QuerySet[ImagePull]:
    return ImagePull.objects.filter(at__lt=before)


def images_under_way() -> QuerySet[Image]:
    return Image.objects.filter(state__in=[ImageState.SAVING, ImageState.DROPPING]).order_by("pk")


def _one(images: QuerySet[Image]) -> Image:
    image = images.first()
    if image is None:
        raise NotFound("This image doesn't exist; GET /images lists those you can run.")
    return image


def last_backup_sync(instance_id: UUID) -> Sync | None:
    """Return the newest complete copy of the instance's data disk in object storage."""
    done = Sync.objects.filter(subject_id=instance_id, direction=SyncDirection.UP, state=SyncState.DONE)
    return done.order_by("-ended_at").first()


def own_saved_images(instance_id: UUID) -> list[Image]:
    """Return the images saved from the instance that are in the market's registry."""
    saved = Image.objects.filter(saved_from=instance_id, source=ImageSource.SAVED, state=ImageState.READY, host=None)
    return list(saved.order_by("-created_at"))
