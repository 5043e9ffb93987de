"""Mail that leaves after the answer: written down with what it tells of, sent by a worker, tried for a day.

So the time of an answer tells nothing of whether anything was sent, and no slow mail server holds a request.
"""

import logging
from datetime import datetime

from accounts.models import OutgoingMail
from accounts.policy import MAIL_BATCH, MAIL_CLAIM, MAIL_TRIED
from common.database import use_case
from common.jobs import enqueue
from common.mail import MAIL_FAULTS, one_line, send_mail

logger = logging.getLogger(__name__)

_SUBJECT_CHARS = 200


def queue_mail(*, to: str, subject: str, body: str) -> None:
    """Send it once the present transaction has committed."""
    OutgoingMail.objects.create(to=to, subject=one_line(subject, most=_SUBJECT_CHARS), body=body)
    enqueue("accounts.send_mails")


def send_mails(*, now: datetime) -> int:
    """Send what is due, claimed first: when a worker dies none is lost, and at most one goes twice. How many left."""
    with use_case():
        free = OutgoingMail.objects.select_for_update(of=("self",), no_key=True, skip_locked=True).filter(due_at__lte=now)
        mails = list(free.order_by("due_at", "pk")[:MAIL_BATCH])
        OutgoingMail.objects.filter(pk__in=[one.pk for one in mails]).update(due_at=now + MAIL_CLAIM)
    return sum(_send(one, now) for one in mails)


def _send(one: OutgoingMail, now: datetime) -> bool:
    sent = True
    try:
        send_mail(one.subject, one.body, None, [one.to])
    except MAIL_FAULTS:
        sent = False
        if now - one.created_at < MAIL_TRIED:
            logger.warning("mail %s was not sent; it is tried again", one.pk, exc_info=True)
            return sent
        logger.exception("mail %s was not sent for a day and is given up", one.pk)
    with use_case():
        OutgoingMail.objects.filter(pk=one.pk).delete()
    return sent
