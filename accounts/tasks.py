"""Celery tasks of accounts."""

from celery import shared_task

from accounts import end_access
from accounts.constants import MAIL_TASK_S
from accounts.mail import outbox
from accounts.notification_channels import sending as notification_sending
from accounts.teams import invitations
from accounts.webhooks import sending
from common import clock


@shared_task(name="accounts.send_webhooks")
def send_webhooks() -> None:
    sending.send_webhooks(now=clock.now())


@shared_task(name="accounts.send_notifications")
def send_notifications() -> None:
    notification_sending.send_notifications(now=clock.now())


@shared_task(name="accounts.drop_old_webhook_events")
def drop_old_webhook_events() -> None:
    sending.delete_old_webhook_events(now=clock.now())


@shared_task(name="accounts.drop_old_invitation_mails")
def drop_old_invitation_mails() -> None:
    invitations.delete_old_invitation_mails(now=clock.now())


@shared_task(name="accounts.send_mails", time_limit=MAIL_TASK_S)
def send_mails() -> None:
    outbox.send_mails(now=clock.now())


@shared_task(name="accounts.drop_old_mails")
def drop_old_mails() -> None:
    outbox.delete_old_mails(now=clock.now())


@shared_task(name="accounts.tell_all_ended")
def tell_all_ended() -> None:
    end_access.republish_ended_credentials(now=clock.now())
