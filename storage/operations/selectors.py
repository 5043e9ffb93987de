"""Reads of operations: open, overdue, and ended ones whose result was not applied."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from common.encryption import decrypt
from storage.models import Operation
from storage.states import OperationState

BATCH = 200
# An agent that restarted ends what it had begun of these, and does not begin it again.
_AT_MOST_ONCE: Final = frozenset({"run_command"})


@dataclass(frozen=True)
class OrderRow:
    """One operation as its agent reads it; see the protocol's OperationOrder."""

    id: UUID
    kind: str
    args: dict[str, str]


def desired_operations(host_id: UUID, held: Collection[UUID] = ()) -> list[OrderRow]:
    """Return the open operations of a host for its agent, with decrypted secrets only where the agent still needs them.

    `held` are those that the agent's report names: it keeps them with their secrets until they end, or until it restarts.
    """
    rows = Operation.objects.filter(host_id=host_id, ended_at=None).order_by("created_at", "pk")
    return [OrderRow(row.pk, row.kind, {**row.args, **_secrets_of(row, held)}) for row in rows]


def _secrets_of(row: Operation, held: Collection[UUID]) -> dict[str, str]:
    has_begun = row.kind in _AT_MOST_ONCE and row.state != OperationState.WAITING
    if row.pk in held or has_begun or not row.sealed_args:
        return {}
    return dict(json.loads(decrypt(row.sealed_args)))


def operations_open_on(host_id: UUID, ids: Sequence[UUID]) -> QuerySet[Operation]:
    return Operation.objects.filter(host_id=host_id, pk__in=ids, ended_at=None).order_by("pk")


def operations_overdue(now: datetime) -> list[UUID]:
    overdue = Operation.objects.filter(ended_at=None, deadline__lte=now)
    return list(overdue.order_by("deadline").values_list("pk", flat=True)[:BATCH])


def operations_of(subject: UUID) -> QuerySet[Operation]:
    """Return the operations of a subject, newest first."""
    return Operation.objects.filter(subject=subject)


def operations_to_apply(only: Sequence[UUID] | None = None) -> list[Operation]:
    """Return ended operations whose result was not applied, of all or of these ids."""
    ended = Operation.objects.filter(ended_at__isnull=False, concluded_at=None)
    chosen = ended if only is None else ended.filter(pk__in=only)
    return list(chosen.order_by("ended_at", "pk")[:BATCH])
