"""The planner: pure, so every rule is a property over made-up worlds."""

import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.daemon.engine.interface import Container, spec_of
from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.access_folder import access_digest
from agents.daemon.reconciler.plan import Action, Observed, plan
from agents.protocol.messages import DesiredInstance

IDS = [uuid.UUID(int=number).hex for number in range(1, 4)]
GPUS = ["GPU-1", "GPU-2"]


def wanted(**changes: Any) -> DesiredInstance:
    return DesiredInstance(
        **{"id": IDS[0], "generation": 2, "fence": 1, "run": "running", "image": "i", "gpu_uuids": ["GPU-1"], **changes}
    )


def made(desired: DesiredInstance, **changes: Any) -> Container:
    first = Container(
        id=f"c{desired.generation}",
        instance=desired.id,
        generation=desired.generation,
        status="running",
        spec=spec_of(desired),
        gpu_uuids=tuple(desired.gpu_uuids),
        started_at="t1",
    )
    return replace(first, **changes)


def kinds(desired: DesiredInstance, containers: Iterable[Container], entry: Entry | None = None, **more: Any) -> list[str]:
    observed = Observed(
        containers=tuple(containers),
        entries={desired.id: entry or Entry()},
        access=more.pop("access", {desired.id: access_digest(desired)}),
        **more,
    )
    return [action.kind for action in plan([desired], observed)]


DESIRED = wanted()
OLD = made(wanted(generation=1))
PASSED = Entry(accepted=2)


@pytest.mark.parametrize(
    ("containers", "entry", "expected"),
    [
        ([], Entry(), ["create"]),
        ([], Entry(accepted=1), ["create"]),  # from its saved root, or it fails: the steps decide
        ([], PASSED, []),  # it ran, and somebody removed it: told, never papered over
        ([made(DESIRED, status="created")], Entry(), ["start"]),
        ([made(DESIRED)], Entry(), ["test"]),
        ([made(DESIRED)], PASSED, []),
        ([made(DESIRED), OLD], PASSED, ["discard"]),
        ([made(DESIRED), OLD], Entry(), ["test"]),  # the old one is kept until the new one has passed
        ([made(DESIRED, status="created"), OLD], Entry(), ["start"]),
        ([made(DESIRED, status="exited")], PASSED, []),
        ([made(DESIRED, status="exited")], Entry(starting=2, started_from="t1"), ["start"]),  # renamed, not yet started
        ([made(DESIRED, status="exited")], Entry(starting=2, started_from="t0"), []),  # started since, and ended
        ([made(DESIRED, status="paused")], PASSED, []),
        ([OLD], Entry(accepted=1), ["advance"]),
        ([replace(OLD, status="exited")], Entry(accepted=1), ["advance"]),
        ([replace(OLD, spec="other")], Entry(accepted=1), ["replace"]),
        ([made(DESIRED)], Entry(failed=2), ["stop"]),
        ([made(DESIRED, status="exited")], Entry(failed=2), []),
        ([OLD], Entry(failed=1, accepted=1), ["advance"]),  # a new generation is a new try
    ],
)
def test_a_running_instance(containers: list[Container], entry: Entry, expected: list[str]) -> None:
    assert kinds(DESIRED, containers, entry) == expected


FRESH = wanted(root=1)


@pytest.mark.parametrize(
    ("desired", "containers", "expected", "base"),
    [
        (FRESH, [OLD], "reimage", OLD),
        (FRESH, [replace(OLD, root=1)], "advance", replace(OLD, root=1)),
        # The re-image failed: back on the former root, though a container of the newer one is there.
        (wanted(generation=3), [made(FRESH, status="exited", root=1), OLD], "advance", OLD),
        (wanted(generation=3, cpu_millis=500), [made(FRESH, status="exited", root=1), OLD], "replace", OLD),
        # Another one was asked for meanwhile: what the first one left is no base for it.
        (
            wanted(generation=3, root=2),
            [made(FRESH, status="exited", root=1), OLD],
            "reimage",
            made(FRESH, status="exited", root=1),
        ),
    ],
)
def test_the_wanted_root_is_where_it_goes_on(
    desired: DesiredInstance, containers: list[Container], expected: str, base: Container
) -> None:
    [action] = plan([desired], Observed(containers=containers, entries={IDS[0]: Entry(accepted=1)}))
    assert (action.kind, action.containers[0]) == (expected, base)
    assert set(action.containers) == set(containers), "all of them are ended before another one begins"


def test_a_growing_disk_is_no_other_container() -> None:
    assert spec_of(wanted(data_disk_gb=10)) == spec_of(wanted(data_disk_gb=20)) != spec_of(wanted(data_disk_gb=0))


def test_new_keys_refresh_the_access_folder() -> None:
    assert kinds(DESIRED, [made(DESIRED)], PASSED, access={IDS[0]: "old"}) == ["refresh"]


def test_a_container_without_its_network_gets_it_back() -> None:
    assert kinds(DESIRED, [made(DESIRED, detached=True)], PASSED) == ["attach"]


@pytest.mark.parametrize(
    ("status", "expected"), [("running", ["stop"]), ("paused", ["stop"]), ("exited", []), ("created", [])]
)
def test_a_stopped_instance(status: Any, expected: list[str]) -> None:
    stopped = wanted(run="stopped")
    assert kinds(stopped, [made(stopped, status=status)], PASSED) == expected
    assert kinds(stopped, [], PASSED) == []


def test_gone_is_pursued_until_it_is_proven() -> None:
    gone = wanted(run="gone")
    assert kinds(gone, [made(gone)]) == ["remove"]
    assert kinds(gone, []) == ["remove"]
    assert kinds(gone, [], absent=frozenset({gone.id})) == []
    assert kinds(gone, [made(gone)], absent=frozenset({gone.id})) == ["remove"], "the proof has been overtaken"


@given(st.permutations(GPUS), st.permutations([(22, 1), (80, 2)]))
def test_the_specification_does_not_depend_on_order(gpus: list[str], ports: list[tuple[int, int]]) -> None:
    assert spec_of(wanted(gpu_uuids=gpus, ports=ports)) == spec_of(wanted(gpu_uuids=GPUS, ports=[(22, 1), (80, 2)]))


@pytest.mark.parametrize(
    "change",
    [
        {"image": "j"},
        {"gpu_uuids": ["GPU-2"]},
        {"cpu_millis": 1},
        {"ram_mb": 1},
        {"pids_limit": 1},
        {"data_disk_gb": 1},
        {"ports": [(22, 9)]},
        {"simulated_gpus": True},
    ],
)
def test_the_specification_is_what_a_container_cannot_change(change: dict[str, Any]) -> None:
    assert spec_of(wanted(**change)) != spec_of(wanted())


def test_the_specification_is_not_what_changes_in_place() -> None:
    assert spec_of(wanted(generation=9, fence=9, ssh_keys=["k"], env={"A": "b"}, stop_grace_s=1)) == spec_of(wanted())


orders = st.builds(
    DesiredInstance,
    id=st.sampled_from(IDS),
    generation=st.integers(1, 3),
    fence=st.just(1),
    run=st.sampled_from(["running", "stopped", "gone"]),
    image=st.just("i"),
    gpu_uuids=st.lists(st.sampled_from(GPUS), unique=True, max_size=2),
)
containers = st.builds(
    Container,
    id=st.uuids().map(str),
    instance=st.sampled_from(IDS),
    generation=st.integers(1, 3),
    status=st.sampled_from(["created", "running", "paused", "exited"]),
    spec=st.sampled_from(["other", *(spec_of(wanted(gpu_uuids=gpus)) for gpus in ([], *([gpu] for gpu in GPUS)))]),
    started_at=st.sampled_from(["", "t1"]),
)
entries = st.builds(
    Entry,
    starting=st.integers(0, 3),
    started_from=st.sampled_from(["", "t1"]),
    accepted=st.integers(0, 3),
    failed=st.integers(0, 3),
)
worlds = st.builds(
    Observed,
    containers=st.lists(containers, max_size=6, unique_by=lambda item: (item.instance, item.generation)),
    entries=st.dictionaries(st.sampled_from(IDS), entries),
    absent=st.frozensets(st.sampled_from(IDS)),
    access=st.dictionaries(st.sampled_from(IDS), st.just("")),
)
wishes = st.lists(orders, max_size=3, unique_by=lambda item: item.id)


@given(wishes, worlds)
def test_one_action_an_instance_and_none_for_strangers(desired: list[DesiredInstance], observed: Observed) -> None:
    actions = plan(desired, observed)
    touched = [action.desired.id for action in actions]
    assert len(touched) == len(set(touched))
    assert set(touched) <= {item.id for item in desired}
    for action in actions:
        assert all(container.instance == action.desired.id for container in action.containers)


@given(wishes, worlds)
def test_only_who_should_be_gone_loses_anything(desired: list[DesiredInstance], observed: Observed) -> None:
    for action in plan(desired, observed):
        if action.desired.run == "gone":
            assert action.kind == "remove"
        elif action.desired.run == "stopped":
            assert action.kind == "stop"
        else:
            assert action.kind != "remove"
        if action.kind == "discard":
            kept = [item for item in observed.containers if item.instance == action.desired.id]
            newest = max(kept, key=lambda item: item.generation)
            assert newest not in action.containers
            assert newest.status == "running"
            assert observed.entries[action.desired.id].accepted >= newest.generation


@given(wishes, worlds)
def test_a_fresh_container_is_never_made_beside_another(desired: list[DesiredInstance], observed: Observed) -> None:
    owners = {item.instance for item in observed.containers}
    assert not any(action.kind == "create" and action.desired.id in owners for action in plan(desired, observed))


@given(wishes, worlds)
def test_the_same_world_gives_the_same_plan_whatever_the_order(desired: list[DesiredInstance], observed: Observed) -> None:
    shuffled = replace(observed, containers=tuple(reversed(observed.containers)))
    assert plan(desired, observed) == plan(desired, shuffled)


@given(wishes, worlds)
def test_every_plan_comes_to_rest(desired: list[DesiredInstance], observed: Observed) -> None:
    """Each action, carried out as it is meant, leads on: after a few rounds nothing is left to do."""
    # The gate lets no generation through that is older than what the host has already.
    newest = {item.instance: item.generation for item in sorted(observed.containers, key=lambda item: item.generation)}
    lawful = [replace(item, generation=max(item.generation, newest.get(item.id, 1))) for item in desired]
    for _ in range(5):
        actions = plan(lawful, observed)
        if not actions:
            return
        for action in actions:
            observed = _carried_out(action, observed)
    raise AssertionError(f"no rest: {plan(lawful, observed)}")


def _carried_out(action: Action, observed: Observed) -> Observed:
    desired = action.desired
    entry = observed.entries.get(desired.id, Entry())
    others = [item for item in observed.containers if item.instance != desired.id]
    own = sorted((item for item in observed.containers if item.instance == desired.id), key=lambda item: -item.generation)
    entries, absent, access = dict(observed.entries), observed.absent, dict(observed.access)
    if action.kind in ("create", "replace"):
        own = [made(desired), *(replace(item, status="exited") for item in own)]
    elif action.kind in ("start", "test", "advance"):
        own = [replace(own[0], status="running", generation=desired.generation, started_at="t2"), *own[1:]]
    elif action.kind == "discard":
        own = own[:1]
    elif action.kind == "stop":
        own = [replace(item, status="exited") for item in own]
    elif action.kind == "remove":
        own, absent = [], absent | {desired.id}
    if action.kind in ("create", "replace", "start", "test", "advance"):
        entries[desired.id] = replace(entry, accepted=desired.generation)
    access[desired.id] = access_digest(desired)
    return Observed(containers=(*others, *own), entries=entries, absent=absent, access=access)
