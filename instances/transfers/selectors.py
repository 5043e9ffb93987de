"""Reads of transfers for renters, hosts and sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, Q, QuerySet

from accounts.models import User
from common.db.prepared import Prepared
from common.messages.message import Message
from instances.constants import SWEEP_BATCH
from instances.core.selectors import DesiredRow, Holding, desired_instances
from instances.core.write_off_selectors import leftover_rows
from instances.models import Move
from instances.states import Desired, MoveKind, MoveState
from storage.operations.selectors import operations_of

ARRIVING = ("copy_root", "receive_root")


@dataclass(frozen=True)
class Progress:
    """Progress of copying in bytes, with the operation's last sentence."""

    done_bytes: int
    total_bytes: int
    detail: str
    message: Message | None = None

    @property
    def percent(self) -> int:
        """Return the percentage of what is known, 0 while nothing is."""
        return min(100, self.done_bytes * 100 // self.total_bytes) if self.total_bytes else 0


def transfers_of(renter: User, instance_id: UUID) -> QuerySet[Move]:
    """Return all transfers from or to this instance of the renter, newest first."""
    own = Move.objects.filter(Q(source_id=instance_id) | Q(target_id=instance_id), renter=renter)
    return own.select_related("source", "target", "from_host", "to_host")


def open_transfer(instance_id: UUID) -> Move | None:
    """Return the open transfer with this instance as source or target, one that is copying first."""
    rows = Move.objects.filter(Q(source_id=instance_id) | Q(target_id=instance_id), ended_at=None)
    found = list(rows.select_related("source", "target", "from_host", "to_host"))
    return min(found, key=lambda move: move.state != MoveState.COPYING, default=None)


def progress_of(move: Move) -> Progress:
    """Return the progress of the receiving side once it has data, else of the sending side."""
    rows = list(operations_of(move.pk))
    reporting = (
        [row for row in rows if row.kind in ARRIVING and row.total_bytes] or [row for row in rows if row.detail] or rows
    )
    if not reporting:
        return Progress(0, 0, "")
    return Progress(reporting[0].done_bytes, reporting[0].total_bytes, reporting[0].detail, reporting[0].message)


def outcome_of(move: Move) -> dict[str, str]:
    """Return what the receiving host reported at the end: checksum, bytes, number of interruptions."""
    ended = operations_of(move.pk).filter(kind__in=ARRIVING).first()
    return dict(ended.outcome) if ended else {}


# Reads for hosts.

_LEAVING = Prepared(
    lambda host_id: (
        Move.objects.filter(ended_at=None, kind=MoveKind.MIGRATE)
        .filter(
            Q(from_host_id=host_id, state=MoveState.STARTING)
            | Q(from_host_id=host_id, state=MoveState.CLEARING)
            | Q(to_host_id=host_id, state=MoveState.UNDOING)
        )
        .annotate(image_reference=F("source__image__reference"))
        .order_by("pk")
    ),
    host_id=UUID,
)


def desired_on_host(
    host_id: UUID, *, mounts: bool = True, moves: bool = True, former: Sequence[UUID] = ()
) -> list[DesiredRow]:
    """Return everything that should be on the host, and what is to be removed from it.

    An instance that was migrated away is kept untouched until it has run on its new host, then removed; one that
    could not be migrated is removed from its target. `mounts` and `moves` set to False save a query each where there
    are none. `former` are hosts that were written off and had the GPUs of this one, of whose instances something may
    be left.
    """
    leaving = _LEAVING.all(host_id=host_id) if moves else []
    left_over = leftover_rows(former) if former else []
    return [*left_over, *desired_instances(host_id, mounts=mounts), *map(_leaving_row, leaving)]


def _leaving_row(move: Move) -> DesiredRow:
    kept = move.state == MoveState.STARTING
    side = move.after if move.state == MoveState.UNDOING else move.before
    return DesiredRow(
        id=move.source_id,
        generation=side["run_generation"],
        fence=side["fence"],
        run=Desired.STOPPED if kept else Desired.GONE,
        image=move.image_reference,  # type: ignore[attr-defined]  # annotated
    )


def migrated_ids(host_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the ids that were migrated from or to this host.

    Its reports about them are late, but not suspicious.
    """
    moves = Move.objects.filter(Q(from_host_id=host_id) | Q(to_host_id=host_id), source_id__in=ids)
    return set(moves.order_by().values_list("source_id", flat=True))


def transfers_clearing_on(host_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
    """Return the transfers that end when this host has proven these instances gone."""
    leaving = Q(from_host_id=host_id, state=MoveState.CLEARING) | Q(to_host_id=host_id, state=MoveState.UNDOING)
    found = Move.objects.filter(leaving, source_id__in=ids, ended_at=None, kind=MoveKind.MIGRATE)
    return list(found.order_by("pk").values_list("pk", flat=True))


# Reads for sweeps.


def open_transfer_ids() -> list[UUID]:
    return list(Move.objects.filter(ended_at=None).order_by("created_at").values_list("pk", flat=True)[:SWEEP_BATCH])


def holdings_of_migrations() -> list[Holding]:
    """Return GPUs that are leased for instances that are still being migrated."""
    coming = Move.objects.filter(ended_at=None, kind=MoveKind.MIGRATE, state=MoveState.COPYING)
    return [Holding(source_id, frozenset(uuids)) for source_id, uuids in coming.values_list("source_id", "gpu_uuids")]
