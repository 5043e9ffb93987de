"""Every pair of states: the table's moves are made and recorded, all others are refused and change nothing."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from accounts.models import User
from common import clock
from common.errors import IllegalTransition, StaleRow
from common.messages.message import Name
from instances.constants import DEADLINES, FAULT_OF
from instances.core.transitions import change_state, check_action
from instances.models import Instance, InstanceEvent
from instances.states import ACTIONS, INSTANCE_MACHINE, FaultOf, InstanceState
from tests.instances.fake_host import FakeHost, order, reload


@pytest.fixture
def instance(rin: User, host: FakeHost) -> Instance:
    return order(rin, host)


def put(instance: Instance, state: str) -> Instance:
    """Set down in a state by force, as no code of Berth may."""
    released = clock.now() if state == InstanceState.GONE else None
    Instance.objects.filter(pk=instance.pk).update(state=state, released_at=released)
    return reload(instance)


@contextmanager
def undone() -> Iterator[None]:
    """The next pair of states finds the instance as this one did."""
    block: Any = transaction.atomic()
    block._from_testcase = True  # lets use cases be outermost in it, as Django's own test transactions do
    with block:
        yield
        transaction.set_rollback(True)


def test_moves(instance: Instance, subtests: pytest.Subtests) -> None:
    for origin, target in itertools.product(InstanceState, InstanceState):
        with subtests.test(f"{origin}-{target}"), undone():
            _check_move(instance, origin, target)


def _check_move(instance: Instance, origin: InstanceState, target: InstanceState) -> None:
    row = put(instance, origin)
    fields: dict[str, Any] = {"released_at": clock.now()} if target == InstanceState.GONE else {}
    events = InstanceEvent.objects.filter(instance=row).count()
    if target in INSTANCE_MACHINE.table[origin]:
        change_state(row, target, kind="test", actor="test", detail=Name(name="why"), **fields)
        assert reload(row).state == target
        assert reload(row).generation == instance.generation + 1
        newest = InstanceEvent.objects.filter(instance=row)[0]
        assert (newest.kind, newest.from_state, newest.to_state, newest.detail) == ("test", origin, target, "why")
    else:
        with pytest.raises(IllegalTransition):
            change_state(row, target, kind="test", actor="test", **fields)
        assert reload(row).state == origin
        assert InstanceEvent.objects.filter(instance=row).count() == events


def test_actions(instance: Instance, subtests: pytest.Subtests) -> None:
    for state, verb in itertools.product(InstanceState, ACTIONS):
        with subtests.test(f"{state}-{verb}"), undone():
            _check_action(instance, state, verb)


def _check_action(instance: Instance, state: InstanceState, verb: str) -> None:
    row = put(instance, state)
    row.stopped_at = row.release_at = clock.now()
    row.holds_gpus = state == InstanceState.STOPPED and verb == "stop"
    row.billing_mode = "reserved" if verb == "extend" else "hourly"
    if state in ACTIONS[verb]:
        check_action(row, verb)
        assert verb in row.actions
    else:
        with pytest.raises(IllegalTransition) as refusal:
            check_action(row, verb)
        assert refusal.value.code == "unlawful_action"
        assert refusal.value.extra["actions"] == row.actions


def test_a_failed_instance_starts_only_once_its_container_is_proven_stopped(instance: Instance) -> None:
    row = put(instance, InstanceState.FAILED)
    assert row.actions == ["release"]
    row.stopped_at = clock.now()
    assert {"start", "start_cpu", "reimage", "resize", "release"} <= set(row.actions)


def test_stop_and_extend_depend_on_more_than_the_state(instance: Instance) -> None:
    row = put(instance, InstanceState.STOPPED)
    several = {"start", "start_cpu", "stop", "convert", "extend", "release"}
    assert several & set(row.actions) == {"start", "start_cpu", "convert", "release"}
    row.holds_gpus = True
    assert several & set(row.actions) == {"start", "stop", "convert", "release"}
    row.billing_mode = "reserved"
    assert several & set(row.actions) == {"start", "convert", "extend", "release"}


def test_a_run_without_gpus_is_not_billed_in_another_mode(instance: Instance) -> None:
    row = put(instance, InstanceState.RUNNING)
    row.cpu_only = True
    assert "convert" not in row.actions


def test_the_slower_of_two_writers_changes_nothing(instance: Instance) -> None:
    slow = reload(instance)
    change_state(reload(instance), InstanceState.PROVISIONING, kind="fast", actor="test")
    with pytest.raises(StaleRow):
        change_state(slow, InstanceState.STOPPING, kind="slow", actor="test")
    assert reload(instance).state == InstanceState.PROVISIONING
    assert not InstanceEvent.objects.filter(kind="slow").exists()


@pytest.mark.parametrize("state", InstanceState)
def test_a_passing_state_has_a_deadline_and_a_lasting_one_has_none(instance: Instance, state: InstanceState) -> None:
    origins = [origin for origin, targets in INSTANCE_MACHINE.table.items() if state in targets]
    if not origins:
        assert state == INSTANCE_MACHINE.initial
        assert instance.deadline == instance.created_at + DEADLINES[state]
        return
    row = put(instance, origins[0])
    fields: dict[str, Any] = {"released_at": clock.now()} if state == InstanceState.GONE else {}
    change_state(row, state, kind="test", actor="test", **fields)
    limit: timedelta | None = DEADLINES.get(state)
    assert reload(row).deadline == (None if limit is None else clock.now() + limit)


def test_every_state_is_reachable_and_every_table_speaks_of_states() -> None:
    reached = {INSTANCE_MACHINE.initial, *itertools.chain(*INSTANCE_MACHINE.table.values())}
    assert reached == set(InstanceState)
    assert set(INSTANCE_MACHINE.table) == set(InstanceState)
    assert set(DEADLINES) <= set(InstanceState)
    assert set(FAULT_OF.values()) <= set(FaultOf)
    assert {state for state in InstanceState if not INSTANCE_MACHINE.table[state]} == INSTANCE_MACHINE.final
