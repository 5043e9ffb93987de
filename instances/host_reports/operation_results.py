"""Results of operations, applied by kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from common.db.transactions import use_case
from common.errors import StaleRow
from instances.access import logs
from instances.lifecycle import grow_disk
from instances.object_sync import disk_syncs
from instances.transfers import completion
from instances.volumes import transfers
from storage.images import resolve, save
from storage.object_sync import syncs
from storage.operations.selectors import operations_to_conclude
from storage.operations.services import mark_concluded
from storage.volumes import grow, snapshots, transfer_completion, volumes

# Each function is called in the transaction that marks the operation as concluded, whether it is done, failed or
# cancelled.
CONCLUDERS: Final[Mapping[str, Callable[[Any], None]]] = {
    logs.KIND: logs.conclude_log,
    **dict.fromkeys(completion.KINDS, completion.conclude_copy),
    grow_disk.KIND: grow_disk.conclude_growth,
    volumes.MAKE: volumes.conclude_make,
    volumes.DROP: volumes.conclude_drop,
    grow.KIND: grow.conclude_growth,
    **dict.fromkeys(transfer_completion.KINDS, transfers.conclude_carry),
    transfer_completion.CLEAR: transfer_completion.conclude_clear,
    snapshots.TAKE: snapshots.conclude_take,
    snapshots.RESTORE: snapshots.conclude_restore,
    snapshots.DROP: snapshots.conclude_drop,
    save.SAVE: save.conclude_save,
    resolve.DROP: save.conclude_drop,
    syncs.KIND: disk_syncs.conclude_sync,
}


def conclude_operations(*, only: Sequence[UUID] | None = None) -> int:
    """Apply the missed results of ended operations, of all or of these; return how many."""
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
        return False  # its subject changed meanwhile: the next run applies it
