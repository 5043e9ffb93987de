"""Celery tasks of the market's sweeps."""

from celery import shared_task

from common import clock
from marketplace.hosts import heartbeat, maintenance, offers
from marketplace.reliability import events
from marketplace.self_tests import services


@shared_task(name="marketplace.mark_silent_hosts")
def mark_silent_hosts() -> None:
    heartbeat.mark_silent_hosts(now=clock.now())


@shared_task(name="marketplace.check_offers")
def check_offers() -> None:
    offers.check_offers(repair=True)


@shared_task(name="marketplace.refresh_reliability")
def refresh_reliability() -> None:
    events.refresh_reliability(now=clock.now())


@shared_task(name="marketplace.turn_maintenance")
def turn_maintenance() -> None:
    maintenance.advance_maintenance(now=clock.now())


@shared_task(name="marketplace.attend_self_tests")
def attend_self_tests() -> None:
    services.run_self_test_sweep(now=clock.now())
