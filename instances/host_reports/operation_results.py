"""Results of operations, applied by kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from common.db.transactions import use_case
from common.errors import StaleRow
from instances.access import commands, logs
from instances.lifecycle import grow_disk
from instances.object_sync import disk_syncs
from instances.transfers import completion
from instances.volumes import transfers
from storage.images import resolve, save
from storage.object_sync import syncs
from storage.operations.selectors import operations_to_apply
from storage.operations.services import mark_concluded
from storage.volumes import grow, snapshots, transfer_completion, volumes

# Each function is called in the transaction that marks the operation as concluded, whether it is done, failed or
# cancelled.
RESULT_HANDLERS: Final[Mapping[str, Callable[[Any], None]]] = {
    logs.KIND: logs.store_log_result,
    commands.KIND: commands.store_result,
    **dict.fromkeys(completion.KINDS, completion.apply_copy_result),
    grow_disk.KIND: grow_disk.apply_growth_result,
    volumes.MAKE: volumes.apply_creation_result,
    volumes.DROP: volumes.apply_deletion_result,
    grow.KIND: grow.apply_growth_result,
    **dict.fromkeys(transfer_completion.KINDS, transfers.apply_transfer_result),
    transfer_completion.CLEAR: transfer_completion.apply_clearing_result,
    snapshots.TAKE: snapshots.apply_snapshot_result,
    snapshots.RESTORE: snapshots.apply_restore_result,
    snapshots.DROP: snapshots.apply_deletion_result,
    save.SAVE: save.apply_save_result,
    resolve.DROP: save.apply_deletion_result,
    syncs.KIND: disk_syncs.apply_sync_result,
}


def apply_results(*, only: Sequence[UUID] | None = None) -> int:
    """Apply the missed results of ended operations, of all or of these; return how many."""
    return sum(_apply_result(operation) for operation in operations_to_apply(only))


def _apply_result(operation: Any) -> bool:
    try:
        with use_case():
            if not mark_concluded(operation_id=operation.pk):
                return False
            follow = RESULT_HANDLERS.get(operation.kind)
            if follow is not None:
                follow(operation)
            return True
    except StaleRow:
        return False  # its subject changed meanwhile: the next run applies it
