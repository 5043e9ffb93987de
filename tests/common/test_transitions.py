"""The single writer of state: lawful moves only, and only from the row that was read."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from common.errors import IllegalTransition, StaleRow
from common.transitions import Machine, move
from instances.states import INSTANCE_MACHINE
from marketplace.models import Host
from marketplace.states import HOST_MACHINE

MACHINES = (HOST_MACHINE, INSTANCE_MACHINE)
PAIRS = [(machine, a, b) for machine in MACHINES for a in machine.table for b in machine.table]


def test_every_pair_of_every_table(subtests: pytest.Subtests) -> None:
    for machine, origin, target in PAIRS:
        with subtests.test(f"{machine.name}-{origin}-{target}"):
            if target in machine.table[origin]:
                machine.check(origin, target)
            else:
                with pytest.raises(IllegalTransition):
                    machine.check(origin, target)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_tables_are_closed_and_reachable(machine: Machine) -> None:
    named = {target for targets in machine.table.values() for target in targets}
    assert named <= set(machine.table)
    assert set(machine.table) - named <= {machine.initial}
    assert all(not machine.table[state] for state in machine.final)


@pytest.fixture
def host(hana: User) -> Host:
    return Host.objects.create(owner=hana, name="h", region="eu", address="127.0.0.1", runtime="simulated", **facts())


def facts() -> dict[str, Any]:
    """Values for the columns without default."""
    needed = {}
    for field in Host._meta.concrete_fields:
        if field.has_default() or field.null or field.primary_key or field.is_relation:
            continue
        needed[field.name] = 1 if field.get_internal_type().endswith("IntegerField") else "x"
    return {name: value for name, value in needed.items() if name not in ("name", "region", "address", "runtime")}


def lawful_target(origin: str) -> str:
    return sorted(HOST_MACHINE.table[origin])[0]


def test_a_move_sets_state_fields_and_generation_and_records(host: Host) -> None:
    seen: list[tuple[str, str, str, str]] = []

    def record(row: Host, origin: str, target: str, *, reason: str, actor: str) -> None:
        seen.append((origin, target, reason, actor))

    origin, target = host.state, lawful_target(host.state)
    move(host, target, machine=HOST_MACHINE, record=record, reason="why", actor="who", name="renamed")
    assert (host.state, host.generation, host.name) == (target, 1, "renamed")
    kept = Host.objects.get(pk=host.pk)
    assert (kept.state, kept.generation, kept.name) == (target, 1, "renamed")
    assert seen == [(origin, target, "why", "who")]


def test_an_unlawful_move_changes_nothing(host: Host, nothing: Callable[[Host], None]) -> None:
    unlawful = next(state for state in HOST_MACHINE.table if state not in HOST_MACHINE.table[host.state])
    with pytest.raises(IllegalTransition):
        move(host, unlawful, machine=HOST_MACHINE, reason="", actor="")
    nothing(host)


def test_the_slower_of_two_writers_is_stale(host: Host) -> None:
    second = Host.objects.get(pk=host.pk)
    target = lawful_target(host.state)
    move(host, target, machine=HOST_MACHINE, reason="", actor="")
    with pytest.raises(StaleRow):
        move(second, target, machine=HOST_MACHINE, reason="", actor="")
    assert Host.objects.get(pk=host.pk).generation == 1


def test_a_writer_that_missed_a_way_there_and_back_is_stale(host: Host) -> None:
    """The state alone is as it read it; only the generation tells."""
    second = Host.objects.get(pk=host.pk)
    origin = host.state
    there = next(state for state in sorted(HOST_MACHINE.table[origin]) if HOST_MACHINE.allows(state, origin))
    for target in (there, origin):
        move(host, target, machine=HOST_MACHINE, reason="", actor="")
    assert Host.objects.get(pk=host.pk).state == second.state
    with pytest.raises(StaleRow):
        move(second, there, machine=HOST_MACHINE, reason="", actor="")
    assert Host.objects.get(pk=host.pk).generation == 2


@pytest.fixture
def nothing() -> Callable[[Host], None]:
    def check(host: Host) -> None:
        kept = Host.objects.get(pk=host.pk)
        assert (kept.state, kept.generation) == (host.state, 0)

    return check
