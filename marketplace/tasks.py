"""The market's periodic passes, for Celery beat."""

from celery import shared_task

from common import clock
from marketplace.services import maintenance, offers, reliability, self_tests, silence


@shared_task(name="marketplace.mark_silent_hosts")
def mark_silent_hosts() -> None:
    silence.mark_silent_hosts(now=clock.now())


@shared_task(name="marketplace.check_offers")
def check_offers() -> None:
    offers.check_offers(repair=True)


@shared_task(name="marketplace.refresh_reliability")
def refresh_reliability() -> None:
    reliability.refresh_reliability(now=clock.now())


@shared_task(name="marketplace.turn_maintenance")
def turn_maintenance() -> None:
    maintenance.turn_maintenance(now=clock.now())


@shared_task(name="marketplace.attend_self_tests")
def attend_self_tests() -> None:
    self_tests.attend_self_tests(now=clock.now())
