"""Shells around the sweeps of instances."""

from celery import shared_task

from common import clock
from instances.services import maintenance, sweeps, watch_mails, watches


@shared_task(name="instances.enforce_deadlines")
def enforce_deadlines() -> None:
    sweeps.enforce_deadlines(now=clock.now())


@shared_task(name="instances.stop_exhausted")
def stop_exhausted() -> None:
    sweeps.stop_exhausted(now=clock.now())


@shared_task(name="instances.purge_expired")
def purge_expired() -> None:
    sweeps.purge_expired(now=clock.now())


@shared_task(name="instances.compare_leases")
def compare_leases() -> None:
    sweeps.compare_leases()


@shared_task(name="instances.compare_watch_holds")
def compare_watch_holds() -> None:
    sweeps.compare_watch_holds()


@shared_task(name="instances.audit_ledger")
def audit_ledger() -> None:
    sweeps.audit_ledger()


@shared_task(name="instances.drop_old_samples")
def drop_old_samples() -> None:
    sweeps.drop_old_samples(now=clock.now())


@shared_task(name="instances.serve_watches")
def serve_watches() -> None:
    watches.serve_watches(now=clock.now())


@shared_task(name="instances.send_watch_mails")
def send_watch_mails() -> None:
    watch_mails.send_watch_mails(now=clock.now())


@shared_task(name="instances.drop_old_watches")
def drop_old_watches() -> None:
    watches.drop_old_watches(now=clock.now())


@shared_task(name="instances.tell_of_maintenance")
def tell_of_maintenance() -> None:
    maintenance.tell_of_maintenance()
