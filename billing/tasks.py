"""Shells around the sweeps of the money."""

from celery import shared_task

from billing.services import settle
from common import clock


@shared_task(name="billing.settle_meters")
def settle_meters() -> None:
    settle.settle_meters(now=clock.now())


@shared_task(name="billing.extend_holds")
def extend_holds() -> None:
    settle.extend_holds(now=clock.now())
