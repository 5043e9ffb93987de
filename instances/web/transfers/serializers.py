"""Requests and responses of clones and migrations."""

from datetime import datetime
from typing import Annotated, Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from common.http.message_schema import MessageOut
from common.ids import public_id
from common.messages.message import stored
from common.messages.rendering import english, message_fields
from common.resources import OneOf, resource
from instances.models import Move
from instances.states import MoveKind, MoveState
from instances.transfers.selectors import outcome_of, progress_of
from instances.web.launch.serializers import LaunchFields

_OFFER = "offr_…; default: the current one, on the same host"


class MigrateIn(serializers.Serializer[Any]):
    """The destination: a quote, or an offer on another host at its current hourly price."""

    quote_id = serializers.CharField(
        required=False, allow_null=True, help_text="quot_…, hourly or tiered, for the instance's image and data disk size"
    )
    offer = serializers.CharField(required=False, allow_null=True, help_text="offr_… of another host")
    gpu_count = serializers.IntegerField(
        min_value=1, max_value=64, required=False, allow_null=True, help_text="Default: the current number"
    )
    max_hourly_rate = AmountText(
        required=False, allow_null=True, help_text="Fails with price_changed above this price, data disk included"
    )


class CloneIn(LaunchFields, MigrateIn):
    """The destination, the name, whether to copy the data disk, and changes of the launch settings."""

    offer = serializers.CharField(required=False, allow_null=True, help_text=_OFFER)
    data_disk = serializers.BooleanField(
        default=True, help_text="false: don't copy it; a quote can include a new, empty one"
    )
    name = NameText(max_length=80, default="", allow_blank=True)


@resource
class MoveFailure:
    """Why it failed."""

    code: str
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]


@resource
class MoveOut:
    """A clone or migration, and its progress."""

    id: str
    kind: Annotated[str, OneOf(MoveKind.choices)]
    state: Annotated[str, OneOf(MoveState.choices)]
    source: Annotated[str, "inst_…"]
    target: Annotated[str, "inst_…; for a move, the same instance"]
    from_host: Annotated[str, "Name of the host"]
    to_host: Annotated[str, "Name of the host"]
    data_disk: bool
    done_bytes: int
    total_bytes: Annotated[int, "0: not known yet"]
    progress: Annotated[str, "Latest progress message of the hosts"]
    progress_message: Annotated[dict[str, Any] | None, MessageOut]
    checksum: Annotated[str | None, "SHA-256 over all chunks, compared on both hosts"]
    cuts: Annotated[int | None, "How often the connection between the hosts was interrupted"]
    failure: MoveFailure | None
    created_at: datetime
    switched_at: Annotated[datetime | None, "When the target was started"]
    ended_at: datetime | None


MOVE_PREFIX = "move"


def move_resource(move: Move) -> MoveOut:
    """Return a transfer; its hosts must be loaded."""
    seen, outcome = progress_of(move), outcome_of(move)
    return MoveOut(
        id=public_id(MOVE_PREFIX, move.pk),
        kind=move.kind,
        state=move.state,
        source=public_id("inst", move.source_id),
        target=public_id("inst", move.target_id),
        from_host=move.from_host.name,
        to_host=move.to_host.name,
        data_disk=move.with_data_disk,
        done_bytes=seen.done_bytes,
        total_bytes=seen.total_bytes,
        progress=english(seen.message) or seen.detail,
        progress_message=stored(seen.message),
        checksum=outcome.get("checksum"),
        cuts=int(outcome["cuts"]) if "cuts" in outcome else None,
        failure=MoveFailure(code=move.failure_code, **message_fields(move.failure_message, move.failure_detail))
        if move.failure_code
        else None,
        created_at=move.created_at,
        switched_at=move.switched_at,
        ended_at=move.ended_at,
    )
