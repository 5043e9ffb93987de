"""Mail about places of the wait list that have ended: each at most once, whatever the number of workers."""

import logging
from datetime import datetime

from common.database import use_case
from common.mail import MAIL_FAULTS, send_mail
from instances.models import Watch
from instances.notices import mail_of
from instances.selectors import watches_to_mail

logger = logging.getLogger(__name__)


def send_watch_mails(*, now: datetime) -> int:
    """Write to everyone whose place has ended and who has not been written to; how many messages left.

    A message is claimed before it is sent, so none leaves twice; one that the mail server refused is tried again later.
    """
    return sum(_send(watch) for watch in watches_to_mail(now) if _claim(watch, now))


def _claim(watch: Watch, now: datetime) -> bool:
    with use_case():
        return bool(Watch.objects.filter(pk=watch.pk, mailed_at=None).update(mailed_at=now))


def _send(watch: Watch) -> bool:
    mail = mail_of(watch)
    try:
        send_mail(mail.subject, mail.body, None, [watch.user.email])
    except MAIL_FAULTS:
        logger.warning("mail about watch %s was not sent; it is tried again", watch.pk, exc_info=True)
        with use_case():
            Watch.objects.filter(pk=watch.pk).update(mailed_at=None)
        return False
    return True
