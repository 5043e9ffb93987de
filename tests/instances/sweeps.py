"""The market's sweeps as the worker makes them, in the order of the schedule: a new one is run without being named here."""

from functools import cache

from config.celery import SWEEPS, app

# What moves no money and no state of what is rented: mail and notices, old rows, statistics, checks that others assert
# themselves, and what speaks to Stripe or registries. Each has tests of its own.
APART = frozenset(
    {
        *("accounts.send_webhooks", "accounts.send_mails", "accounts.drop_old_mails", "accounts.tell_all_ended"),
        *("accounts.drop_old_webhook_events", "accounts.drop_old_invitation_mails", "accounts.send_notifications"),
        *("billing.queue_notices", "billing.issue_invoices", "billing.open_payouts", "billing.send_payouts"),
        *("billing.apply_stripe_events", "billing.send_refunds", "billing.top_up_low_wallets", "billing.tell_auto_failures"),
        *("billing.attend_payments", "billing.reconcile_stripe", "billing.seal_ledger"),
        *("instances.queue_archive_mails", "instances.queue_alert_mails", "instances.queue_watch_mails"),
        *("instances.queue_notice_mails", "instances.tell_of_maintenance", "instances.audit_ledger"),
        *("instances.drop_old_commands",),
        *("instances.drop_old_samples", "instances.drop_old_logs", "instances.drop_old_watches", "instances.roll_up_use"),
        *("instances.count_image_uses", "instances.follow_all_keys", "instances.tick_due"),  # tick_spot ticks all of them
        *("instances.follow_alerts", "instances.compare_leases", "instances.compare_watch_holds"),
        *("marketplace.check_offers", "marketplace.attend_self_tests"),
        *("workloads.count_template_uses", "workloads.follow_official_templates", "vast.forget_creates"),
        *("storage.follow_images", "storage.drop_old_pulls", "marketplace.refresh_reliability"),
    }
)


def run_sweeps() -> None:
    """Run each sweep but those apart, once."""
    for name in sweeps_to_run():
        app.tasks[name].run()


@cache
def sweeps_to_run() -> list[str]:
    """Their names, in order. Each import of the tasks has Celery run Django's system checks: a quarter of a second."""
    app.loader.import_default_modules()
    return [name for name in SWEEPS if name not in APART]
