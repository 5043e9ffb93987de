"""The only writer of `state`: compare-and-swap on (state, generation), with its event."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.db.models import Model

from common.db.prepared import update
from common.errors import IllegalTransition


class Stateful(Protocol):
    """A row with a state and the number of its transitions."""

    state: str
    generation: int


@dataclass(frozen=True)
class Machine:
    """State machine: `table` maps a state to the states that may follow it."""

    name: str
    table: Mapping[str, frozenset[str]]
    initial: str
    final: frozenset[str] = field(default_factory=frozenset)

    def allows(self, origin: str, target: str) -> bool:
        return target in self.table.get(origin, frozenset())

    def check(self, origin: str, target: str) -> None:
        if not self.allows(origin, target):
            raise IllegalTransition(f"A {self.name} that is {origin} cannot become {target}.")


def move(
    row: Any,
    target: str,
    *,
    machine: Machine,
    record: Callable[..., None] | None = None,
    reason: str,
    actor: str,
    **fields: object,
) -> None:
    """Move `row` to `target` and set `fields` in the same UPDATE.

    `record(row, origin, target, reason=…, actor=…)` writes the event in the same transaction.

    Raises:
        IllegalTransition: the table does not contain the transition.
        StaleRow: another writer was faster, and nothing has changed. In a block of `batched_writes()`, it is raised at
            the block's end.
    """
    origin = row.state
    machine.check(origin, target)
    model: type[Model] = type(row)
    where: dict[str, object] = {str(model._meta.pk.name): row.pk, "state": origin, "generation": row.generation}
    update(model, where=where, stale=f"This {machine.name} changed meanwhile; read it again.", state=target, **fields)
    row.state, row.generation = target, row.generation + 1
    for name, value in fields.items():
        setattr(row, name, value)
    if record is not None:
        record(row, origin, target, reason=reason, actor=actor)
