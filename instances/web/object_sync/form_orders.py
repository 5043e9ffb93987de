"""Orders of the sync form: once now, or as a schedule."""

from typing import Any

from accounts.models import User
from instances.object_sync.disk_syncs import sync_disk
from instances.object_sync.schedules import Rhythm, add_schedule
from storage.object_sync.syncs import sync_volume
from storage.states import SnapshotSource


def begin_or_schedule(*, owner: User, order: dict[str, Any], rhythm: Rhythm | None) -> None:
    """Start a sync, or add a schedule where a recurrence is given.

    Raises what `sync_volume`, `sync_disk` and `add_schedule` raise.
    """
    if rhythm is not None:
        add_schedule(owner=owner, rhythm=rhythm, **order)
        return
    rest = {"connection_id": order["connection_id"], "wish": order["wish"]}
    if order["subject_kind"] == SnapshotSource.VOLUME:
        sync_volume(owner=owner, volume_id=order["subject_id"], **rest)
    else:
        sync_disk(renter=owner, instance_id=order["subject_id"], **rest)
