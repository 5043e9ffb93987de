"""Celery's shells around the services of accounts."""

from celery import shared_task

from accounts.policy import MAIL_TASK_S
from accounts.services import access, invitations, mails, webhook_sending
from common import clock


@shared_task(name="accounts.send_webhooks")
def send_webhooks() -> None:
    webhook_sending.send_webhooks(now=clock.now())


@shared_task(name="accounts.drop_old_webhook_events")
def drop_old_webhook_events() -> None:
    webhook_sending.drop_old_webhook_events(now=clock.now())


@shared_task(name="accounts.drop_old_invitation_mails")
def drop_old_invitation_mails() -> None:
    invitations.drop_old_invitation_mails(now=clock.now())


@shared_task(name="accounts.send_mails", time_limit=MAIL_TASK_S)
def send_mails() -> None:
    mails.send_mails(now=clock.now())


@shared_task(name="accounts.drop_old_mails")
def drop_old_mails() -> None:
    mails.drop_old_mails(now=clock.now())


@shared_task(name="accounts.tell_all_ended")
def tell_all_ended() -> None:
    access.tell_all_ended(now=clock.now())
