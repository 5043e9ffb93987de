"""Beat's schedule and the tasks behind it."""

from unittest.mock import patch

import pytest

from config.celery import SWEEPS, app
from instances import tasks
from instances.services import sweeps, watch_mails, watches


@pytest.fixture(autouse=True)
def loaded() -> None:
    app.loader.import_default_modules()


def test_every_scheduled_name_is_a_task() -> None:
    assert set(SWEEPS) <= set(app.tasks)
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} == set(SWEEPS)


def test_every_sweep_of_ours_is_scheduled() -> None:
    own = {name for name in app.tasks if name.partition(".")[0] in ("instances", "billing", "marketplace")}
    assert own <= set(SWEEPS)


def test_a_run_that_comes_too_late_is_dropped() -> None:
    for entry in app.conf.beat_schedule.values():
        assert entry["options"]["expires"] <= entry["schedule"]


@pytest.mark.parametrize(
    "name", ["enforce_deadlines", "stop_exhausted", "purge_expired", "compare_leases", "audit_ledger", "drop_old_samples"]
)
def test_a_task_is_the_shell_of_its_sweep(name: str) -> None:
    with patch.object(sweeps, name) as sweep:
        getattr(tasks, name)()
    sweep.assert_called_once()


@pytest.mark.parametrize(
    ("room", "name"),
    [
        (sweeps, "compare_watch_holds"),
        (watches, "serve_watches"),
        (watches, "drop_old_watches"),
        (watch_mails, "send_watch_mails"),
    ],
)
def test_a_task_of_the_wait_list_is_the_shell_of_its_sweep(room: object, name: str) -> None:
    with patch.object(room, name) as sweep:
        getattr(tasks, name)()
    sweep.assert_called_once()
