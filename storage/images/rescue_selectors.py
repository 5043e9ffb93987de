"""Reads of the copies of an instance's data that exist outside its host."""

from uuid import UUID

from storage.models import Image, Sync
from storage.states import ImageSource, ImageState, SyncDirection, SyncState


def last_copy(instance_id: UUID) -> Sync | None:
    """Return the newest complete copy of the instance's data disk in object storage."""
    done = Sync.objects.filter(subject_id=instance_id, direction=SyncDirection.UP, state=SyncState.DONE)
    return done.order_by("-ended_at").first()


def own_saved_images(instance_id: UUID) -> list[Image]:
    """Return the images saved from the instance that are in the market's registry."""
    saved = Image.objects.filter(saved_from=instance_id, source=ImageSource.SAVED, state=ImageState.READY, host=None)
    return list(saved.order_by("-created_at"))
