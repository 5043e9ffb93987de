"""Celery tasks that run the sweeps of storage."""

from celery import shared_task

from common import clock
from storage import sweeps
from storage.images import pull_progress, save
from storage.operations import services


@shared_task(name="storage.give_up_overdue")
def give_up_overdue() -> None:
    services.give_up_overdue(now=clock.now())


@shared_task(name="storage.follow_images")
def follow_images() -> None:
    save.follow_images()


@shared_task(name="storage.drop_old_pulls")
def drop_old_pulls() -> None:
    pull_progress.drop_old_pulls(now=clock.now())


@shared_task(name="storage.follow_storage_money")
def follow_storage_money() -> None:
    sweeps.follow_storage_money(now=clock.now())


@shared_task(name="storage.delete_again")
def delete_again() -> None:
    sweeps.delete_again(now=clock.now())


@shared_task(name="storage.delete_unpaid")
def delete_unpaid() -> None:
    sweeps.delete_unpaid(now=clock.now())
