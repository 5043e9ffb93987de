"""Notices and mails about wallets, budgets, and data that is about to be deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from accounts.constants import MAIL_TRIED
from accounts.mail.outbox import queue_mail, withdraw_mails
from accounts.notification_channels.outbox import notify
from accounts.webhooks.outbox import emit
from billing.constants import NOTICE_BATCH, SOURCE_PREFIXES
from billing.models import Notice
from billing.standing.messages import mail_of
from common.db.transactions import use_case
from common.ids import public_id

INSTANCE: Final = "instance"
# Notices that channels receive under these kinds; webhooks carry the others, and channels what webhooks do.
_CHANNEL_KINDS: Final[Mapping[str, str]] = {
    Notice.Kind.LOW: "billing.balance_low",
    Notice.Kind.EXHAUSTED: "billing.out_of_funds",
    Notice.Kind.BUDGET: "billing.budget",
}


@dataclass(frozen=True)
class Announcement:
    """Announced deletion of a stopped instance's data, or of a volume or snapshot that nobody pays for.

    `days` counts from now to `ends_at`.
    """

    person_id: UUID
    subject_id: UUID
    name: str
    ends_at: datetime
    days: int
    of: str = INSTANCE


def announce_releases(*, announcements: Sequence[Announcement], now: datetime) -> int:
    """Store each announcement once, for the mail and the banner, and return how many are new.

    An announced date binds the deletion.
    """
    keys = {_key(one): one for one in announcements}
    with use_case():
        known = set(Notice.objects.filter(key__in=keys).values_list("key", flat=True))
        fresh = [_notice(key, one, now) for key, one in keys.items() if key not in known]
        Notice.objects.bulk_create(fresh, ignore_conflicts=True)
        for key in keys.keys() - known:
            _emit_event(keys[key])
    return len(fresh)


def queue_notices(*, now: datetime) -> int:
    """Queue the mails of notices that were not mailed yet, and return how many.

    Nobody is mailed about data that is deleted already.
    """
    due = Notice.objects.filter(mailed_at=None, at__gt=now - MAIL_TRIED).exclude(kind=Notice.Kind.RELEASE, ends_at__lte=now)
    notices = list(due.select_related("person").order_by("at", "pk")[:NOTICE_BATCH])
    return sum(_queue(notice, now) for notice in notices)


def delete_notices_of_budget(budget_id: UUID) -> None:
    """Delete a budget's outdated notices and their unsent mails, inside a use case."""
    notices = Notice.objects.filter(kind=Notice.Kind.BUDGET, subject_id=budget_id)
    withdraw_mails(mail_key(pk) for pk in notices.values_list("pk", flat=True))
    notices.delete()


def mail_key(notice_id: UUID) -> str:
    """Return the key of a notice's mail in the outbox."""
    return f"notice:{notice_id.hex}"


def _queue(notice: Notice, now: datetime) -> bool:
    mail = mail_of(notice)
    until = notice.at + MAIL_TRIED
    if notice.kind == Notice.Kind.RELEASE and notice.ends_at is not None:
        until = min(until, notice.ends_at)
    with use_case():
        if not Notice.objects.filter(pk=notice.pk, mailed_at=None).update(mailed_at=now):
            return False  # another worker was faster, or the notice no longer applies
        queue_mail(to=notice.person.email, subject=mail.subject, body=mail.body, key=mail_key(notice.pk), expires_at=until)
        if notice.kind in _CHANNEL_KINDS:
            notify(user_id=notice.person_id, kind=_CHANNEL_KINDS[notice.kind], subject=mail.subject, body=mail.body)
    return True


def _emit_event(one: Announcement) -> None:
    common = {one.of: public_id(SOURCE_PREFIXES[one.of], one.subject_id), "name": one.name, "days": one.days}
    if one.of == INSTANCE:
        payload = {**common, "release_at": one.ends_at.isoformat()}
        emit(user_id=one.person_id, kind="instance.release_warning", payload=payload)
    else:
        payload = {**common, "delete_at": one.ends_at.isoformat()}
        emit(user_id=one.person_id, kind="storage.release_warning", payload=payload)


def _key(one: Announcement) -> str:
    return f"release:{one.subject_id.hex}:{one.ends_at:%Y%m%dT%H%M%S.%f}:{one.days}"


def _notice(key: str, one: Announcement, now: datetime) -> Notice:
    return Notice(
        person_id=one.person_id,
        kind=Notice.Kind.RELEASE,
        key=key,
        subject_id=one.subject_id,
        ends_at=one.ends_at,
        facts={"name": one.name, "days": one.days} | ({} if one.of == INSTANCE else {"of": one.of}),
        at=now,
    )
