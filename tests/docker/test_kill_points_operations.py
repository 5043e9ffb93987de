"""As test_kill_points.py, for commands in an instance and copies to object storage: killed at each step of either."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.protocol.messages import ObservedOperation
from tests.docker.conftest import SYNC_IMAGE
from tests.docker.kill_matrix import build_greeter, fork_server
from tests.docker.kill_stage import GREETER, Action, Stage, Tour, open_stage
from tests.docker.test_kill_points import done, running
from tests.storage.object_store import BUCKET, REGION, ObjectStore

pytestmark = pytest.mark.docker
BYTES = 3_000_000


@pytest.fixture(scope="module")
def stage(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A box that runs, with a folder on its data disk."""
    build_greeter(GREETER)
    with fork_server() as place, open_stage(engine, tmp_path_factory.mktemp("kills"), place) as stage:
        stage.spawn()
        stage.market.until(lambda report: report.facts is not None)
        stage.new("box")
        stage.market.until(lambda report: running(stage))
        folder = stage.data().parent / "work"
        folder.mkdir()
        stage.keep(folder / "file", os.urandom(BYTES))
        yield stage


class Command:
    """A command that writes down each of its runs, and what was told of its end."""

    def __init__(self) -> None:
        self.told: ObservedOperation | None = None

    def begin(self, stage: Stage) -> None:
        self.told = None
        self.file(stage).unlink(missing_ok=True)
        words = json.dumps(["/main", "/data/runs"])
        stage.ask("run_command", instance=stage.box.id, command=words, env="{}", stdin="", timeout_s="60")

    def is_over(self, stage: Stage) -> bool:
        """The market has heard its end and does not name it any more, and nothing is kept of it."""
        row = stage.row_of("run_command")
        if row is not None and row.phase in ("done", "failed"):
            self.told = row
            stage.market.ask()
        return self.told is not None and row is None and not list((stage.state / "commands").iterdir())

    def check(self, stage: Stage) -> None:
        """Only what has really ended is told as done."""
        assert self.told is not None
        if self.told.phase == "done":
            outcome = self.told.outcome
            assert (outcome["exit_code"], base64.b64decode(outcome["stdout"])) == ("7", b"ended\n")
            assert self.runs(stage) == 1
        else:
            assert self.told.failure_code == "agent_restarted"
        self.is_run_at_most_once(stage)
        [container] = stage.machine.containers(stage.box.id)
        processes = stage.machine.engine.top(container["Id"])["Processes"]
        assert not [row for row in processes if "/data/runs" in row[-1]]

    def is_run_at_most_once(self, stage: Stage) -> None:
        assert self.runs(stage) <= 1

    def runs(self, stage: Stage) -> int:
        return self.file(stage).stat().st_size if self.file(stage).exists() else 0

    def file(self, stage: Stage) -> Path:
        return stage.data().parent / "runs"


def test_a_command_is_run_once_at_most(stage: Stage) -> None:
    command = Command()
    run = Action("command", command.begin, command.is_over, command.check, command.is_run_at_most_once, alone=True)
    assert Tour(stage, run).run() >= 3


def test_a_copy_to_object_storage_is_made_once_and_leaves_nothing(stage: Stage, sync_image: str) -> None:
    with ObjectStore(apart=True) as store:

        def begin(stage: Stage) -> None:
            store.clear()
            key = store.key
            stage.ask(
                "sync_objects",
                image=SYNC_IMAGE,
                direction="up",
                instance=stage.box.id,
                size_gb="1",
                path="work",
                remote=f"{BUCKET}/killed",
                delete="",
                endpoint=store.endpoint,
                region=REGION,
                key_id=key.key_id,
                secret=key.secret,
                virtual_host="",
            )

        def check(stage: Stage) -> None:
            assert store.files() == {"killed/file": BYTES}
            row = stage.row_of("sync_objects")
            assert row is not None and int(row.outcome["copied_files"]) + int(row.outcome["same_files"]) == 1

        def is_not_done_before_it_is(stage: Stage) -> None:
            row = stage.row_of("sync_objects")
            assert row is None or row.phase == "running" or store.files() == {"killed/file": BYTES}

        copy = Action("copy", begin, done("sync_objects"), check, is_not_done_before_it_is)
        assert Tour(stage, copy).run() >= 5
