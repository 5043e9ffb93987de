"""The simulated engine behaves like the real one where it matters, and outlives its agent."""

from pathlib import Path

import pytest

from agents.daemon.engine import simulated
from agents.daemon.engine.interface import ContainerOrder, EngineRefused
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.protocol.messages import DesiredInstance

ID = "a" * 32
ORDER = ContainerOrder(DesiredInstance(ID, 1, 1, "running", "i", gpu_uuids=["GPU-1"]), "i", "/access")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "simulated.json"


def test_containers_outlive_the_agent_and_end_with_the_machine(path: Path) -> None:
    first = SimulatedRuntime(path, boot="one")
    first.start(first.create(ORDER))
    again = SimulatedRuntime(path, boot="one")
    (container,) = again.containers()
    assert (container.status, container.gpu_uuids, again.running_gpus()) == ("running", ("GPU-1",), {"GPU-1": ID})
    (ended,) = SimulatedRuntime(path, boot="two").containers()
    assert (ended.status, ended.exit_code, ended.before_boot) == ("exited", 137, True)
    again_up = SimulatedRuntime(path, boot="two")
    again_up.start(ended.id)
    assert not again_up.containers()[0].before_boot


def test_names_are_taken_once(path: Path) -> None:
    runtime = SimulatedRuntime(path, boot="one")
    runtime.create(ORDER)
    with pytest.raises(EngineRefused, match="taken"):
        runtime.create(ORDER)


def test_nothing_is_left(path: Path) -> None:
    runtime = SimulatedRuntime(path, boot="one")
    made = runtime.create(ORDER)
    runtime.save_root(made, ID, 2)
    assert runtime.saved_root(ID) == runtime.saved_root(ID, 2) == f"berth-root/{ID}:2"
    assert runtime.saved_root(ID, 3) is None
    assert len(runtime.leftovers(ID)) == 2
    runtime.remove(made)
    runtime.clear(ID)
    assert runtime.leftovers(ID) == []
    runtime.remove(made)
    with pytest.raises(EngineRefused):
        runtime.start(made)


def test_a_torn_last_line_is_passed_over_and_written_over(path: Path) -> None:
    first = SimulatedRuntime(path, boot="one")
    made = first.create(ORDER)
    whole = path.read_bytes()
    first.start(made)
    torn = path.read_bytes()[:-20]
    assert len(torn) > len(whole)
    path.write_bytes(torn)
    again = SimulatedRuntime(path, boot="one")
    assert [item.status for item in again.containers()] == ["created"]
    again.start(made)
    assert [item.status for item in SimulatedRuntime(path, boot="one").containers()] == ["running"]


def test_the_file_stays_short_and_no_number_is_given_twice(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MOST_LINES", 10)
    runtime, numbers = SimulatedRuntime(path, boot="one"), set[str]()
    for _ in range(30):
        made = runtime.create(ORDER)
        numbers.add(made)
        runtime.simulate_transferred_root(ID, 3)
        runtime.remove(made)
        assert len(path.read_text().splitlines()) <= 13  # its head, its root, a container, ten changes
    again = SimulatedRuntime(path, boot="one")
    assert (again.containers(), again.saved_root(ID, 3)) == ([], f"berth-root/{ID}:3")
    assert len({*numbers, again.create(ORDER)}) == 31


def test_an_end_is_told_to_who_watches(path: Path) -> None:
    runtime, ends = SimulatedRuntime(path, boot="one"), []
    made = runtime.create(ORDER)
    runtime.start(made)
    first = runtime.containers(ID)[0].started_at
    runtime.start(made)
    assert runtime.containers(ID)[0].started_at == first, "started is started"
    runtime.watch(lambda: ends.append("told"), None)  # type: ignore[arg-type]  # it does not wait
    runtime.kill(made)
    assert ends == ["told"]
    assert runtime.containers("other") == []
