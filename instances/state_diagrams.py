"""Life cycles as a Markdown page with diagrams, generated from the transition tables."""

from collections.abc import Iterator
from typing import Final

from billing.states import DISPUTE_MACHINE, PAYMENT_MACHINE, PAYOUT_MACHINE, REFUND_MACHINE, STANDING_MACHINE
from common.transitions import Machine
from instances.constants import DEADLINES
from instances.states import ACTIONS, BID_MACHINE, INSTANCE_MACHINE, MOVE_MACHINE, TERM_MACHINE, WATCH_MACHINE
from marketplace.states import HOST_MACHINE
from storage.states import (
    IMAGE_MACHINE,
    OPERATION_MACHINE,
    SNAPSHOT_MACHINE,
    SYNC_MACHINE,
    VOLUME_MACHINE,
    VOLUME_MOVE_MACHINE,
)

_HEAD: Final = """# Life cycles

Printed from the transition tables in the `states.py` of `instances`, `storage`, `marketplace` and `billing` by
`manage.py print_state_diagrams > docs/lifecycles.md`; a test holds the two equal. `common/transitions.py` is the only writer
of a state: it compares and swaps on (state, generation), so a stale or illegal transition changes nothing.
"""
_OTHERS: Final = (
    *(TERM_MACHINE, BID_MACHINE, HOST_MACHINE, WATCH_MACHINE, MOVE_MACHINE, OPERATION_MACHINE),
    *(VOLUME_MACHINE, VOLUME_MOVE_MACHINE, SNAPSHOT_MACHINE, IMAGE_MACHINE, SYNC_MACHINE),
    *(PAYMENT_MACHINE, REFUND_MACHINE, DISPUTE_MACHINE, PAYOUT_MACHINE, STANDING_MACHINE),
)


def state_diagrams_page() -> str:
    others = [line for machine in _OTHERS for line in _section(machine)]
    parts = [_HEAD, *_section(INSTANCE_MACHINE), *_actions(), *_deadlines(), *others]
    return "\n".join(parts) + "\n"


def _section(machine: Machine) -> Iterator[str]:
    yield f"## {machine.name.capitalize()}\n"
    yield "```mermaid\nstateDiagram-v2"
    yield f"    [*] --> {machine.initial}"
    for origin, targets in machine.table.items():
        yield from (f"    {origin} --> {target}" for target in sorted(targets))
    yield from (f"    {state} --> [*]" for state in sorted(machine.final))
    yield "```\n"
    yield "| From | To |\n|---|---|"
    for origin, targets in machine.table.items():
        yield f"| {origin} | {', '.join(sorted(targets)) or '(the end)'} |"
    yield ""


def _actions() -> Iterator[str]:
    yield (
        "What its renter may ask for (a failed instance starts once its container is proven stopped; a stopped one is"
        " stopped again to let go of GPUs that it keeps for a fee; only a reserved one is extended):\n"
    )
    yield "| Action | In these states |\n|---|---|"
    yield from (f"| {verb} | {', '.join(sorted(states))} |" for verb, states in ACTIONS.items())
    yield ""


def _deadlines() -> Iterator[str]:
    yield "A passing state that takes longer than this becomes an incident; nothing is released by time (D2):\n"
    yield "| State | Minutes |\n|---|---|"
    yield from (f"| {state} | {limit.total_seconds() / 60:g} |" for state, limit in DEADLINES.items())
    yield ""
