"""Celery tasks that run the sweeps of storage."""

from celery import shared_task

from common import clock
from storage import sweeps
from storage.images import pull_progress, save
from storage.operations import services


@shared_task(name="storage.give_up_overdue")
def give_up_overdue() -> None:
    services.fail_overdue(now=clock.now())


@shared_task(name="storage.follow_images")
def follow_images() -> None:
    save.repair_images()


@shared_task(name="storage.drop_old_pulls")
def drop_old_pulls() -> None:
    pull_progress.delete_old_pulls(now=clock.now())


@shared_task(name="storage.follow_storage_money")
def follow_storage_money() -> None:
    sweeps.update_storage_meters(now=clock.now())


@shared_task(name="storage.delete_again")
def delete_again() -> None:
    sweeps.retry_deletions(now=clock.now())


@shared_task(name="storage.delete_unpaid")
def delete_unpaid() -> None:
    sweeps.delete_unpaid(now=clock.now())
