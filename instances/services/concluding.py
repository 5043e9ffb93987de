"""What follows when an operation has ended, by its kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from common.database import use_case
from common.errors import StaleRow
from instances.services import disk_syncs, growth, logs, move_ends, volume_moves
from storage.selectors import operations_to_conclude
from storage.services import named_images, saved_images, snapshots, syncs, volume_growth, volume_move_ends, volumes
from storage.services.operations import mark_concluded

# Each is called in the transaction that marks the operation concluded, whatever its end was: done, failed or cancelled.
CONCLUDERS: Final[Mapping[str, Callable[[Any], None]]] = {
    logs.KIND: logs.conclude_log,
    **dict.fromkeys(move_ends.KINDS, move_ends.conclude_copy),
    growth.KIND: growth.conclude_growth,
    volumes.MAKE: volumes.conclude_make,
    volumes.DROP: volumes.conclude_drop,
    volume_growth.KIND: volume_growth.conclude_growth,
    **dict.fromkeys(volume_move_ends.KINDS, volume_moves.conclude_carry),
    volume_move_ends.CLEAR: volume_move_ends.conclude_clear,
    snapshots.TAKE: snapshots.conclude_take,
    snapshots.RESTORE: snapshots.conclude_restore,
    snapshots.DROP: snapshots.conclude_drop,
    saved_images.SAVE: saved_images.conclude_save,
    named_images.DROP: saved_images.conclude_drop,
    syncs.KIND: disk_syncs.conclude_sync,
}


def conclude_operations(*, only: Sequence[UUID] | None = None) -> int:
    """Act on the ends that were not acted on yet, on all of them or on these; how many."""
    return sum(_conclude(operation) for operation in operations_to_conclude(only))


def _conclude(operation: Any) -> bool:
    try:
        with use_case():
            if not mark_concluded(operation_id=operation.pk):
                return False
            follow = CONCLUDERS.get(operation.kind)
            if follow is not None:
                follow(operation)
            return True
    except StaleRow:
        return False  # what it is about moved meanwhile: the next turn takes it up again
