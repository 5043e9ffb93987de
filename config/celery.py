"""The Celery application and its beat: tasks are found in each app's `tasks.py`."""

import os
from typing import Final

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

app = Celery("berth")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Seconds between two runs of each sweep. A run that waited in the queue for longer than that is dropped: the next one
# finds the same work.
SWEEPS: Final[dict[str, float]] = {
    "marketplace.mark_silent_hosts": 10,
    "billing.extend_holds": 15,
    "instances.stop_exhausted": 15,
    "instances.enforce_deadlines": 30,
    "billing.settle_meters": 60,
    "instances.purge_expired": 60,
    "marketplace.check_offers": 60,
    "marketplace.attend_self_tests": 30,
    "marketplace.refresh_reliability": 60,
    "marketplace.turn_maintenance": 30,
    "instances.tell_of_maintenance": 30,
    "instances.compare_leases": 60,
    "instances.drop_old_samples": 3600,
    "instances.audit_ledger": 86_400,
    "instances.serve_watches": 5,
    "instances.send_watch_mails": 15,
    "instances.drop_old_watches": 3600,
    "instances.compare_watch_holds": 60,
}
app.conf.beat_schedule = {
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}} for name, seconds in SWEEPS.items()
}
