"""Outbox of mail: queued in the transaction that causes it, sent by a worker, at least once.

So no mail reports what was rolled back, none is lost with a worker, the response time does not reveal whether mail
was sent, and no slow mail server blocks a request, a transaction or more than one process of the worker.
"""

import logging
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import F, QuerySet

from accounts.constants import MAIL_BATCH, MAIL_CLAIM, MAIL_KEPT, MAIL_PASS_S, MAIL_REST, MAIL_WAITS
from accounts.models import OutgoingMail
from accounts.models.security import mail_expiry
from common.db.transactions import exclusive_lock, use_case
from common.jobs import enqueue
from common.mail import MAIL_FAULTS, concerns_one_mail, fault_name, one_line, send_mail

logger = logging.getLogger(__name__)

_SUBJECT_CHARS: Final = 200
# Advisory lock: one sender at a time, whatever the number of workers. The value itself has no meaning.
_SENDER_LOCK: Final = 5_190_332_871


def queue_mail(*, to: str, subject: str, body: str, key: str | None = None, expires_at: datetime | None = None) -> None:
    """Queue a mail, to be sent after the commit and before `expires_at`; a key is queued only once.

    A key is known for a week after its mail: callers record permanently, in the same transaction, that they sent
    it.
    """
    mail = OutgoingMail(
        to=to,
        subject=one_line(subject, most=_SUBJECT_CHARS),
        body=body,
        key=key,
        expires_at=expires_at or mail_expiry(),
    )
    OutgoingMail.objects.bulk_create([mail], ignore_conflicts=True)
    enqueue("accounts.send_mails")


def withdraw_mails(keys: Iterable[str]) -> int:
    """Delete unsent mails that are outdated, in the caller's transaction; return how many."""
    return _waiting().filter(key__in=list(keys)).delete()[0]


def send_mails(*, now: datetime) -> int:
    """Send due mails one after the other, each claimed first, and return how many were sent.

    Returns 0 while another sender is active. A worker that dies loses none: its claimed mail is sent again after
    the claim ends, which is the only way to send a mail twice.
    """
    _give_up(now)
    with exclusive_lock(_SENDER_LOCK) as ours:
        return _send_due(now) if ours and not _server_rests(now) else 0


def delete_old_mails(*, now: datetime) -> int:
    """Delete mails that were sent or given up days ago, and return how many."""
    old = OutgoingMail.objects.filter(created_at__lte=now - MAIL_KEPT)
    with use_case():
        return old.exclude(sent_at=None, given_up_at=None).delete()[0]


def _send_due(now: datetime) -> int:
    begun, sent = time.monotonic(), 0
    for _ in range(MAIL_BATCH):
        one = _claim(now) if time.monotonic() - begun < MAIL_PASS_S else None
        if one is None:
            break
        fault = _try(one)
        if fault is None:
            _record_sent(one, now)
            sent += 1
            continue
        _record_fault(one, fault, now)
        if not concerns_one_mail(fault):
            break  # the other mails would fail too, each after its timeout
    return sent


def _claim(now: datetime) -> OutgoingMail | None:
    """Claim the next due mail by setting its next attempt, later each time, in case its sender dies."""
    with use_case():
        one = _free(now).filter(expires_at__gt=now).first()
        if one is not None:
            one.tries += 1
            _waiting().filter(pk=one.pk).update(tries=F("tries") + 1, due_at=now + max(MAIL_CLAIM, _wait_after(one.tries)))
    return one


def _try(one: OutgoingMail) -> Exception | None:
    """Send a mail, outside of any transaction, and return the error, if any."""
    try:
        send_mail(one.subject, one.body, None, [one.to], message_id=_message_id(one))
    except MAIL_FAULTS as fault:
        return fault
    return None


def _message_id(one: OutgoingMail) -> str:
    """Return a Message-ID from the row's id: the same in each attempt and in a restored database."""
    return f"<{one.pk.hex}@{urlsplit(settings.SITE_URL).hostname}>"


def _record_sent(one: OutgoingMail, now: datetime) -> None:
    with use_case():
        _waiting().filter(pk=one.pk).update(sent_at=now, body="", fault="", server_failed_at=None)


def _record_fault(one: OutgoingMail, fault: Exception, now: datetime) -> None:
    fault_text = fault_name(fault)
    logger.warning("mail %s (%s) was not sent in try %s: %s", one.pk, one.key or "-", one.tries, fault_text)
    with use_case():
        _waiting().filter(pk=one.pk, tries=one.tries).update(
            due_at=min(now + _wait_after(one.tries), one.expires_at),
            fault=fault_text,
            server_failed_at=None if concerns_one_mail(fault) else now,
        )


def _give_up(now: datetime) -> None:
    """Give up mails that have expired; a mail with an attempt under way is left to it."""
    with use_case():
        over = list(_free(now).filter(expires_at__lte=now)[:MAIL_BATCH])
        OutgoingMail.objects.filter(pk__in=[one.pk for one in over]).update(given_up_at=now, body="")
    for one in over:
        reason = one.fault or "its time was over"
        logger.error("mail %s (%s) is given up after %s tries: %s", one.pk, one.key or "-", one.tries, reason)


def _server_rests(now: datetime) -> bool:
    return _waiting().filter(server_failed_at__gt=now - MAIL_REST).exists()


def _waiting() -> QuerySet[OutgoingMail]:
    return OutgoingMail.objects.filter(sent_at=None, given_up_at=None)


def _free(now: datetime) -> QuerySet[OutgoingMail]:
    """Return due mails that nobody else has claimed, locked."""
    locked = _waiting().select_for_update(of=("self",), no_key=True, skip_locked=True)
    return locked.filter(due_at__lte=now).order_by("due_at", "pk")


def _wait_after(tries: int) -> timedelta:
    return MAIL_WAITS[min(tries, len(MAIL_WAITS)) - 1]
