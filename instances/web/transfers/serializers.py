"""Serializers of clones and migrations; a test compares the schemas with the JSON."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from common.http.message_schema import MessageOut
from common.ids import public_id
from common.message_words import english, told
from common.messages import stored
from instances.models import Move
from instances.states import MoveKind, MoveState
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
        "progress": english(seen.message) or seen.detail,
        "progress_message": stored(seen.message),
        "checksum": outcome.get("checksum"),
        "cuts": int(outcome["cuts"]) if "cuts" in outcome else None,
        "failure": {"code": move.failure_code, **told(move.failure_message, move.failure_detail)}
        if move.failure_code
        else None,
        "created_at": move.created_at,
        "switched_at": move.switched_at,
        "ended_at": move.ended_at,
    }


_OFFER = "offr_…; left out: the present one, on the same host"


class MigrateIn(serializers.Serializer[Any]):
    """The destination: a quote, or an offer of another host at its present hourly price."""

    quote_id = serializers.CharField(
        required=False, allow_null=True, help_text="quot_…, hourly or tiered, for the instance's image and size of data disk"
    )
    offer = serializers.CharField(required=False, allow_null=True, help_text="offr_… of another host")
    gpu_count = serializers.IntegerField(
        min_value=1, max_value=64, required=False, allow_null=True, help_text="Left out: as many as now"
    )
    max_hourly_rate = AmountText(
        required=False, allow_null=True, help_text="Refused with price_changed above this, data disk included"
    )


class CloneIn(MigrateIn):
    """The destination, the name, and whether to copy the data disk."""

    offer = serializers.CharField(required=False, allow_null=True, help_text=_OFFER)
    data_disk = serializers.BooleanField(default=True, help_text="False: without it; a quote may bring a fresh one")
    name = NameText(max_length=80, default="", allow_blank=True)


class MoveFailure(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()
    message = MessageOut(allow_null=True)


class MoveOut(serializers.Serializer[Any]):
    """A clone or migration, and the progress of its copying."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=MoveKind.choices)
    state = serializers.ChoiceField(choices=MoveState.choices)
    source = serializers.CharField(help_text="inst_…")  # type: ignore[assignment]  # a field of the reply, not the base's
    target = serializers.CharField(help_text="inst_…; of a move the same instance")
    from_host = serializers.CharField(help_text="Its name")
    to_host = serializers.CharField(help_text="Its name")
    data_disk = serializers.BooleanField()
    done_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField(help_text="0: not known yet")
    progress = serializers.CharField(help_text="The hosts' last sentence")
    progress_message = MessageOut(allow_null=True)
    checksum = serializers.CharField(allow_null=True, help_text="SHA-256 over all chunks, compared on both hosts")
    cuts = serializers.IntegerField(allow_null=True, help_text="How often the way between the hosts broke")
    failure = MoveFailure(allow_null=True)
    created_at = serializers.DateTimeField()
    switched_at = serializers.DateTimeField(allow_null=True, help_text="When the target was told to run")
    ended_at = serializers.DateTimeField(allow_null=True)
