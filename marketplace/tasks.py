"""The market's periodic passes, for Celery beat."""

from celery import shared_task

from common import clock
from marketplace.services import offers, silence


@shared_task(name="marketplace.mark_silent_hosts")
def mark_silent_hosts() -> None:
    silence.mark_silent_hosts(now=clock.now())


@shared_task(name="marketplace.check_offers")
def check_offers() -> None:
    offers.check_offers(repair=True)
