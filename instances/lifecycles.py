"""The life cycles as a Markdown page with diagrams, made from the transition tables alone."""

from collections.abc import Iterator
from typing import Final

from common.transitions import Machine
from instances.policy import DEADLINES
from instances.states import ACTIONS, INSTANCE_MACHINE, WATCH_MACHINE
from marketplace.states import HOST_MACHINE

_HEAD: Final = """# Life cycles

Printed from the transition tables in `instances/states.py` and `marketplace/states.py` by
`manage.py print_lifecycles > docs/lifecycles.md`; a test holds the two equal. `common/transitions.py` is the only writer
of a state: it compares and swaps on (state, generation), so a stale or unlawful move changes nothing.
"""


def lifecycles_page() -> str:
    others = (*_section(HOST_MACHINE), *_section(WATCH_MACHINE))
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
    yield "What its renter may ask for (a failed instance starts once its container is proven stopped):\n"
    yield "| Action | In these states |\n|---|---|"
    yield from (f"| {verb} | {', '.join(sorted(states))} |" for verb, states in ACTIONS.items())
    yield ""


def _deadlines() -> Iterator[str]:
    yield "A passing state that takes longer than this becomes an incident; nothing is released by time (D2):\n"
    yield "| State | Minutes |\n|---|---|"
    yield from (f"| {state} | {limit.total_seconds() / 60:g} |" for state, limit in DEADLINES.items())
    yield ""
