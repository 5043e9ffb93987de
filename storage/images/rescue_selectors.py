"""What of an instance lies elsewhere than on its host."""

from uuid import UUID

from storage.models import Image, Sync
from storage.states import ImageSource, ImageState, SyncDirection, SyncState


def last_copy(instance_id: UUID) -> Sync | None:
    """The newest whole copy of its data disk in object storage."""
    done = Sync.objects.filter(subject_id=instance_id, direction=SyncDirection.UP, state=SyncState.DONE)
    return done.order_by("-ended_at").first()


def own_saved_images(instance_id: UUID) -> list[Image]:
    """Images saved of it that lie in the market's registry."""
    saved = Image.objects.filter(saved_from=instance_id, source=ImageSource.SAVED, state=ImageState.READY, host=None)
    return list(saved.order_by("-created_at"))
