"""Celery tasks that run the sweeps of the API of Vast."""

from celery import shared_task

from vast.create import orders


@shared_task(name="vast.forget_creates")
def forget_creates() -> None:
    orders.forget_creates()
