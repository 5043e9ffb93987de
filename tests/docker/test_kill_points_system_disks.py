"""As test_kill_points.py, where each root is on a system disk: killed at each step, nothing lost, nothing left."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.docker.kill_matrix import build_greeter, fork_server
from tests.docker.kill_stage import GREETER, Action, Stage, Tour, open_stage
from tests.docker.test_kill_points import KEPT, STOP, change, gpus, running, shares

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def stage(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A box that runs, with something on its root."""
    build_greeter(GREETER)
    with fork_server() as place, open_stage(engine, tmp_path_factory.mktemp("kills"), place) as stage:
        stage.spawn()
        stage.market.until(lambda report: report.facts is not None)
        stage.new("box", system_disk_gb=1)
        stage.market.until(lambda report: running(stage))
        stage.machine.put(stage.box.id, "kept", KEPT)
        yield stage


def test_rent_and_release(stage: Stage) -> None:
    rent = Action(
        "rent with a system disk",
        lambda stage: stage.new("other", gpu_uuids=gpus(stage, 3), system_disk_gb=1),
        lambda stage: stage.has_reported("running", "other"),
    )
    release = Action(
        "release with a system disk",
        lambda stage: stage.change("other", run="gone", again=False),
        lambda stage: stage.is_gone("other"),
    )
    Tour(stage, rent, release).run()
    stage.forget("other")


def test_stop_and_start(stage: Stage) -> None:
    Tour(stage, STOP, change("start")).run()


def test_on_other_gpus(stage: Stage) -> None:
    Tour(stage, shares("with another GPU", 1), shares("with two GPUs", 1, 2)).run()


def test_re_image(stage: Stage) -> None:
    def check(stage: Stage) -> None:
        assert stage.machine.get(stage.box.id, "kept") is None, "the root is fresh"
        stage.machine.put(stage.box.id, "kept", KEPT)

    def begin(stage: Stage) -> None:
        stage.change(root=stage.box.root + 1)

    Tour(stage, Action("re-image", begin, running, check)).run()
