"""Beat's schedule and the tasks behind it."""

from inspect import signature
from unittest.mock import patch

import pytest

from config.celery import SWEEPS, app
from instances import tasks
from instances.enforcement import sweeps
from instances.monitoring import alerts, mail, rollups
from instances.retention import data_retention
from instances.schedules import timers
from instances.wait_list import mail as wait_list_mail
from instances.wait_list import wait_list
from tests.instances.sweeps import APART, sweeps_to_run

# About one row each, which a sweep would find within a minute or so without them.
HINTS = {
    "billing.apply_stripe_event",
    "billing.look_at_payment",
    "billing.run_reconciliation",
    "billing.send_payout",
    "billing.send_refund",
    "instances.follow_keys",
    "instances.tick_offer",
}


@pytest.fixture(autouse=True)
def loaded() -> None:
    app.loader.import_default_modules()


def test_every_scheduled_name_is_a_task() -> None:
    assert set(SWEEPS) <= set(app.tasks)
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} == set(SWEEPS)


def test_every_sweep_of_ours_is_scheduled() -> None:
    """A task that is given a row is a hint; what is given nothing finds its own work, and nobody else asks for it."""
    apps = {name.partition(".")[0] for name in SWEEPS}
    own = {name for name in app.tasks if name.partition(".")[0] in apps}
    assert "storage" in apps
    assert own - HINTS <= set(SWEEPS)
    assert {name for name in own if signature(app.tasks[name].run).parameters} == HINTS


def test_tests_run_each_sweep_that_they_do_not_set_apart() -> None:
    assert set(SWEEPS) > APART, "all that is set apart is scheduled"
    assert sweeps_to_run() == [name for name in SWEEPS if name not in APART]


def test_a_run_that_comes_too_late_is_dropped() -> None:
    for entry in app.conf.beat_schedule.values():
        assert entry["options"]["expires"] <= entry["schedule"]


@pytest.mark.parametrize("name", ["enforce_deadlines", "stop_exhausted", "purge_expired", "compare_leases"])
def test_a_task_is_the_shell_of_its_sweep(name: str) -> None:
    with patch.object(sweeps, name) as sweep:
        getattr(tasks, name)()
    sweep.assert_called_once()


def test_the_audit_is_asked_for_often_and_made_daily() -> None:
    with patch.object(sweeps, "audit_daily") as sweep:
        tasks.audit_ledger()
    sweep.assert_called_once()


@pytest.mark.parametrize(
    ("task", "module", "name"),
    [
        ("compare_watch_holds", sweeps, "compare_watch_holds"),
        ("serve_watches", wait_list, "serve_entries"),
        ("drop_old_watches", wait_list, "delete_old_entries"),
        ("queue_watch_mails", wait_list_mail, "queue_watch_mails"),
        ("follow_timers", timers, "run_due_timers"),
        ("stop_idle", timers, "stop_idle"),
        ("end_long_waits", timers, "end_long_waits"),
        ("follow_paid_time", data_retention, "update_retention_meters"),
        ("roll_up_use", rollups, "roll_up_use"),
        ("drop_old_samples", rollups, "delete_old_samples"),
        ("follow_alerts", alerts, "update_alerts"),
        ("queue_alert_mails", mail, "queue_alert_mails"),
    ],
)
def test_a_task_is_the_shell_of_the_sweep_of_a_feature(task: str, module: object, name: str) -> None:
    with patch.object(module, name) as sweep:
        getattr(tasks, task)()
    sweep.assert_called_once()
