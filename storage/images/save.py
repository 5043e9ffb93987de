"""Saving images from instances, on the host itself or in the market's registry."""

from typing import Any, Final
from uuid import UUID

from django.utils.text import slugify

from accounts.models import User
from common import change_counters
from common.db.transactions import use_case
from common.ids import new_uuid
from common.messages.rendering import columns
from common.transitions import move
from storage.constants import IMAGES_AT_MOST, SAVE_WITHIN, SAVED_ON_HOST_AT_MOST
from storage.errors import ImageBeingSaved, TooManyImages
from storage.images.registry_grants import PULL_AND_PUSH, market_repository, registry_grant
from storage.images.resolve import DROP
from storage.images.selectors import count_images, count_saved_on, images_under_way, saving_of
from storage.models import Image, Operation
from storage.operations.messages import NotSaved
from storage.operations.services import MARKET, request_operation
from storage.states import IMAGE_MACHINE, ImageSource, ImageState, OperationState

SAVE: Final = "save_image"
REPOSITORY: Final = "berth-saved"
_SLUG_WORDS: Final = 40


def start_saving(*, owner: User, instance_id: UUID, host_id: UUID, base: Image, name: str, description: str = "") -> Image:
    """Start saving an image of an instance in its present state.

    Call it inside the use case that has checked the instance. The new image has the services of its base and needs
    the same CUDA version.
    """
    if saving_of(instance_id) is not None:
        raise ImageBeingSaved("Wait until the image that is being saved of this instance is ready.")
    if count_images(owner) >= IMAGES_AT_MOST:
        raise TooManyImages(f"You have {IMAGES_AT_MOST} images. Remove one that you no longer use.")
    key = new_uuid()
    if not market_repository(owner.pk, key) and count_saved_on(owner, host_id) >= SAVED_ON_HOST_AT_MOST:
        raise TooManyImages(f"You have {SAVED_ON_HOST_AT_MOST} images on this host's disk. Remove one first.")
    reference = f"{REPOSITORY}/{key.hex}:1"
    image = Image.objects.create(
        id=key,
        slug=f"{slugify(name)[:_SLUG_WORDS].strip('-') or 'saved'}-{key.hex[-8:]}",
        title=name,
        description=description,
        reference=reference,
        official=False,
        active=False,
        owner=owner,
        source=ImageSource.SAVED,
        state=ImageState.SAVING,
        host_id=host_id,
        saved_from=instance_id,
        **{field: getattr(base, field) for field in ("cuda", "has_ssh", "has_jupyter", "has_tensorboard", "architectures")},
    )
    push, secrets = _push_target(image)
    request_operation(
        host_id=host_id,
        owner_id=owner.pk,
        kind=SAVE,
        subject=instance_id,
        args={"instance": instance_id.hex, "image": key.hex, "reference": reference, "push": push},
        secrets=secrets,
        within=SAVE_WITHIN,
    )
    return image


def apply_save_result(operation: Operation) -> None:
    """Mark the image as ready where it was stored, or as failed with the agent's reason.

    The place comes from our own order, never from the agent: an agent could otherwise name another registry, from
    which other hosts would pull and to which they would send the grant for this image.
    """
    image = _locked_image(operation.args.get("image", ""), ImageState.SAVING)
    if image is None:
        return
    if operation.state != OperationState.DONE:
        _move(image, ImageState.FAILED, host_id=None, **columns("failure", operation.last_message or NotSaved()))
        return
    outcome, (place, _, _tag) = operation.outcome, operation.args.get("push", "").rpartition(":")
    digest = outcome.get("digest", "")[:80] if place else ""
    size = outcome.get("size_bytes", "0")
    _move(
        image,
        ImageState.READY,
        active=True,
        size_bytes=int(size) if size.isdecimal() else 0,
        digest=digest,
        **({"reference": f"{place}@{digest}", "host_id": None} if digest else {}),
    )


def apply_deletion_result(operation: Operation) -> None:
    """Mark the image as gone once its host has deleted it.

    While the host is away, the sweep requests the deletion again.
    """
    image = _locked_image(operation.subject.hex, ImageState.DROPPING)
    if image is not None and operation.state == OperationState.DONE:
        _move(image, ImageState.GONE)


def repair_images() -> int:
    """Repair images whose operation ended without effect, or request it again; return their number.

    This is a sweep.
    """
    return sum(_repair(image) for image in images_under_way())


def _repair(image: Image) -> bool:
    with use_case():
        subject = image.saved_from if image.state == ImageState.SAVING and image.saved_from else image.pk
        last = Operation.objects.filter(subject=subject, kind=_kind(image)).order_by("-created_at").first()
        if last is None or last.concluded_at is None:
            return False
        if image.state == ImageState.SAVING:
            _move(image, ImageState.FAILED, host_id=None, **columns("failure", NotSaved()))
            return True
        assert image.host_id is not None
        assert image.owner_id is not None
        request_operation(
            host_id=image.host_id,
            owner_id=image.owner_id,
            kind=DROP,
            subject=image.pk,
            args=dict(last.args),
            within=last.deadline - last.created_at,
        )
    return True


def _kind(image: Image) -> str:
    return SAVE if image.state == ImageState.SAVING else DROP


def _push_target(image: Image) -> tuple[str, dict[str, str]]:
    """Return where the host is to push the image, with a grant that can write this image alone.

    Both are empty where the market has no registry; the image then stays on the host.
    """
    assert image.owner_id is not None
    place = market_repository(image.owner_id, image.pk)
    if not place:
        return "", {}
    username, password = registry_grant(image.owner_id, image.pk, PULL_AND_PUSH)
    return f"{place}:1", {"username": username, "password": password}


def _locked_image(key: str, state: str) -> Image | None:
    try:
        wanted = UUID(hex=key)
    except ValueError:
        return None
    return Image.objects.select_for_update(no_key=True).filter(pk=wanted, state=state).first()


def _move(image: Image, target: str, **fields: Any) -> None:
    move(image, target, machine=IMAGE_MACHINE, reason=target, actor=MARKET, **fields)
    assert image.owner_id is not None
    change_counters.notify_change(f"user:{image.owner_id.hex}")
