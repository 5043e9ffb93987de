"""Shells around the sweeps of storage."""

from celery import shared_task

from common import clock
from storage.services import operations, pulls, saved_images, storage_sweeps


@shared_task(name="storage.give_up_overdue")
def give_up_overdue() -> None:
    operations.give_up_overdue(now=clock.now())


@shared_task(name="storage.follow_images")
def follow_images() -> None:
    saved_images.follow_images()


@shared_task(name="storage.drop_old_pulls")
def drop_old_pulls() -> None:
    pulls.drop_old_pulls(now=clock.now())


@shared_task(name="storage.follow_storage_money")
def follow_storage_money() -> None:
    storage_sweeps.follow_storage_money(now=clock.now())


@shared_task(name="storage.delete_again")
def delete_again() -> None:
    storage_sweeps.delete_again(now=clock.now())


@shared_task(name="storage.delete_unpaid")
def delete_unpaid() -> None:
    storage_sweeps.delete_unpaid(now=clock.now())
