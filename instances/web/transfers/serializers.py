"""JSON of clones and migrations."""

from typing import Any

from common.ids import public_id
from instances.models import Move
from instances.transfers.selectors import outcome_of, progress_of

MOVE_PREFIX = "move"


def move_shape(move: Move) -> dict[str, Any]:
    """Return a transfer as JSON; its hosts must be loaded."""
    seen, outcome = progress_of(move), outcome_of(move)
    return {
        "id": public_id(MOVE_PREFIX, move.pk),
        "kind": move.kind,
        "state": move.state,
        "source": public_id("inst", move.source_id),
        "target": public_id("inst", move.target_id),
        "from_host": move.from_host.name,
        "to_host": move.to_host.name,
        "data_disk": move.with_data_disk,
        "done_bytes": seen.done_bytes,
        "total_bytes": seen.total_bytes,
        "progress": seen.detail,
        "checksum": outcome.get("checksum"),
        "cuts": int(outcome["cuts"]) if "cuts" in outcome else None,
        "failure": {"code": move.failure_code, "detail": move.failure_detail} if move.failure_code else None,
        "created_at": move.created_at,
        "switched_at": move.switched_at,
        "ended_at": move.ended_at,
    }
