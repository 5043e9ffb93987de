"""Mail about ended wait-list entries; each is queued once, together with its mark."""

from datetime import datetime

from accounts.constants import MAIL_TRIED
from accounts.mail.outbox import queue_mail
from accounts.notification_channels.outbox import notify
from common.db.transactions import use_case
from instances.constants import FREE_GPU_TOLD
from instances.models import Watch
from instances.states import WatchState
from instances.wait_list.messages import mail_of
from instances.wait_list.selectors import entries_to_mail


def queue_watch_mails(*, now: datetime) -> int:
    """Queue mails about ended entries that were not mailed, and return how many."""
    return sum(_queue(watch, now) for watch in entries_to_mail(now))


def _queue(watch: Watch, now: datetime) -> bool:
    mail = mail_of(watch)
    with use_case():
        if not Watch.objects.filter(pk=watch.pk, mailed_at=None).update(mailed_at=now):
            return False  # another worker was faster
        queue_mail(
            to=watch.user.email,
            subject=mail.subject,
            body=mail.body,
            key=f"watch:{watch.pk.hex}",
            expires_at=_until(watch),
        )
        notify(user_id=watch.user_id, kind="waitlist.ended", subject=mail.subject, body=mail.body)
    return True


def _until(watch: Watch) -> datetime:
    """Return until when the mail is worth sending; that GPUs are free is soon no longer true."""
    assert watch.ended_at is not None
    return watch.ended_at + (FREE_GPU_TOLD if watch.state == WatchState.TOLD else MAIL_TRIED)
