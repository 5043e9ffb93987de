"""Shells around the sweeps of instances."""

from celery import shared_task

from common import clock
from instances.services import sweeps


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


@shared_task(name="instances.audit_ledger")
def audit_ledger() -> None:
    sweeps.audit_ledger()


@shared_task(name="instances.drop_old_samples")
def drop_old_samples() -> None:
    sweeps.drop_old_samples(now=clock.now())
