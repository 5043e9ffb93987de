"""Celery application with its periodic schedule; tasks are found in each app's `tasks.py`."""

import logging
import os
from importlib import import_module
from typing import Any, Final

from celery import Celery, Task
from celery.exceptions import Ignore
from celery.signals import after_setup_logger, task_success, worker_init

from agents.protocol.log_lines import OneLineFormatter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")


class Sweep(Task):  # type: ignore[type-arg] # not generic at run time
    """Task that is skipped, if periodic, while this machine's clock has jumped.

    With a wrong time it would stop and delete what it should not.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.name in SWEEPS and not import_module("instances.enforcement.clock_watch").clock_is_trusted():
            raise Ignore()
        return super().__call__(*args, **kwargs)


app = Celery("berth", task_cls=Sweep)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@after_setup_logger.connect
def _log_one_line(logger: logging.Logger, format: str, **_kwargs: Any) -> None:
    for handler in logger.handlers:
        handler.setFormatter(OneLineFormatter(format))


@worker_init.connect
def _same_currency(**_kwargs: Any) -> None:
    """Refuse to start if the ledger's amounts are in another currency.

    Such a worker would charge, refund and pay out wrong amounts.
    """
    selectors = import_module("billing.ledger.currency")  # models cannot be imported before the apps are ready
    if difference := selectors.currency_difference():
        raise SystemExit(difference)


@worker_init.connect
def _no_half_restored_database(**_kwargs: Any) -> None:
    restores = import_module("common.unfinished_restore")
    if restores.restore_is_unfinished():
        raise SystemExit(restores.TOLD)


@worker_init.connect
def _expect_sweeps(**_kwargs: Any) -> None:
    import_module("marketplace.sweep_runs").expect_sweeps(known=SWEEPS)


# Seconds between two runs of each sweep. A run that waited in the queue for longer than that is dropped: the next one
# finds the same work.
SWEEPS: Final[dict[str, float]] = {
    "marketplace.mark_silent_hosts": 10,
    "billing.extend_holds": 15,
    "instances.stop_exhausted": 15,
    "instances.follow_terms": 15,
    "instances.reopen_meters": 60,
    "instances.follow_standings": 60,
    "instances.follow_budgets": 15,
    "instances.stop_disputed": 60,
    "instances.stop_barred_bids": 60,
    "instances.stop_suspended": 30,
    "instances.announce_data_ends": 300,
    "billing.queue_notices": 15,
    "instances.follow_silence": 15,
    "instances.follow_disks": 60,
    "storage.give_up_overdue": 30,
    "storage.follow_storage_money": 60,
    "storage.delete_again": 60,
    "storage.delete_unpaid": 300,
    "storage.follow_images": 60,
    "storage.drop_old_pulls": 300,
    "instances.count_image_uses": 300,
    "instances.conclude_operations": 5,
    "instances.follow_moves": 5,
    "instances.settle_write_offs": 15,
    "instances.follow_volume_moves": 5,
    "instances.close_left_over": 300,
    "instances.follow_all_keys": 60,
    "instances.free_left_ports": 60,
    "instances.drop_old_logs": 60,
    "instances.drop_old_commands": 60,
    "instances.erase_unused_secrets": 600,
    "workloads.count_template_uses": 300,
    "workloads.follow_official_templates": 300,
    "vast.forget_creates": 600,
    "instances.enforce_deadlines": 30,
    "instances.charge_meters": 60,
    "billing.expire_coupons": 60,
    "billing.issue_invoices": 3600,
    "billing.send_payouts": 60,
    "billing.open_payouts": 3600,
    "instances.purge_expired": 60,
    "instances.follow_archives": 60,
    "instances.follow_sync_schedules": 30,
    "instances.queue_archive_mails": 15,
    "instances.follow_timers": 10,
    "instances.stop_idle": 60,
    "instances.end_long_waits": 300,
    "instances.follow_paid_time": 60,
    "marketplace.check_offers": 60,
    "marketplace.attend_self_tests": 30,
    "marketplace.refresh_reliability": 60,
    "marketplace.turn_maintenance": 30,
    "instances.tell_of_maintenance": 30,
    "instances.compare_leases": 60,
    "instances.drop_old_samples": 3600,
    "instances.roll_up_use": 60,
    "instances.follow_alerts": 30,
    "instances.queue_alert_mails": 15,
    "instances.audit_ledger": 600,  # daily: see `audit_daily`
    "instances.serve_watches": 5,
    "instances.queue_watch_mails": 15,
    "instances.drop_old_watches": 3600,
    "instances.compare_watch_holds": 60,
    "instances.tick_spot": 60,
    "instances.tick_due": 5,
    "instances.queue_notice_mails": 15,
    "billing.apply_stripe_events": 30,
    "billing.follow_debts": 60,
    "billing.send_refunds": 30,
    "billing.top_up_low_wallets": 60,
    "billing.tell_auto_failures": 60,
    "billing.attend_payments": 3600,
    "billing.reconcile_stripe": 600,  # daily: see `reconcile_daily`
    "billing.seal_ledger": 3600,
    "accounts.send_webhooks": 10,
    "accounts.send_notifications": 10,
    "accounts.send_mails": 10,
    "accounts.drop_old_mails": 3600,
    "accounts.tell_all_ended": 30,
    "accounts.drop_old_webhook_events": 3600,
    "accounts.drop_old_invitation_mails": 3600,
}
app.conf.beat_schedule = {
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}} for name, seconds in SWEEPS.items()
}


@task_success.connect
def _record_sweep(sender: Any, **_kwargs: Any) -> None:
    """Record a successful run of a sweep; the web alerts staff to those that are late."""
    if sender.name in SWEEPS:
        services = import_module("marketplace.sweep_runs")  # models cannot be imported before the apps are ready
        services.record_sweep_run(name=sender.name, every_s=SWEEPS[sender.name])
