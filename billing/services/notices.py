"""Sends the mails about wallets, data and budgets: when a worker dies, none is lost and at most one goes twice."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from accounts.services.webhooks import emit
from billing.models import Notice
from billing.notice_words import mail_of
from billing.policy import NOTICE_BATCH, NOTICE_CLAIM, NOTICE_TRIED
from common.database import use_case
from common.ids import public_id
from common.mail import MAIL_FAULTS, send_mail

logger = logging.getLogger(__name__)

INSTANCE: Final = "instance"
_PREFIXES: Final = {INSTANCE: "inst", "volume": "vol", "snapshot": "snap"}


@dataclass(frozen=True)
class Announcement:
    """That the data of a stopped instance, or a volume or snapshot that nobody pays for, goes at a moment, so many days
    from now."""

    person_id: UUID
    subject_id: UUID
    name: str
    ends_at: datetime
    days: int
    of: str = INSTANCE


def announce_releases(*, announcements: Sequence[Announcement], now: datetime) -> int:
    """Write each down once, for the mail and the banner; how many are new. A date that was told binds the purge."""
    keys = {_key(one): one for one in announcements}
    with use_case():
        known = set(Notice.objects.filter(key__in=keys).values_list("key", flat=True))
        fresh = [_notice(key, one, now) for key, one in keys.items() if key not in known]
        Notice.objects.bulk_create(fresh, ignore_conflicts=True)
        for key in keys.keys() - known:
            _tell_programs(keys[key])
    return len(fresh)


def send_notices(*, now: datetime) -> int:
    """Send what has not been sent; how many mails left. One whose sender fell silent is sent by another later on."""
    due = Notice.objects.filter(_unclaimed(now), mailed_at=None, at__gt=now - NOTICE_TRIED).exclude(
        kind=Notice.Kind.RELEASE, ends_at__lte=now
    )
    notices = list(due.select_related("person").order_by("at", "pk")[:NOTICE_BATCH])
    return sum(_send(notice, now) for notice in notices if _claim(notice, now))


def _claim(notice: Notice, now: datetime) -> bool:
    with use_case():
        return bool(Notice.objects.filter(_unclaimed(now), pk=notice.pk, mailed_at=None).update(claimed_at=now))


def _send(notice: Notice, now: datetime) -> bool:
    mail = mail_of(notice)
    try:
        send_mail(mail.subject, mail.body, None, [notice.person.email])
    except MAIL_FAULTS:
        logger.warning("mail %s was not sent; it is tried again", notice.key, exc_info=True)
        return False
    with use_case():
        Notice.objects.filter(pk=notice.pk).update(mailed_at=now)
    return True


def _unclaimed(now: datetime) -> Q:
    return Q(claimed_at=None) | Q(claimed_at__lte=now - NOTICE_CLAIM)


def _tell_programs(one: Announcement) -> None:
    told = {one.of: public_id(_PREFIXES[one.of], one.subject_id), "name": one.name, "days": one.days}
    if one.of == INSTANCE:
        payload = {**told, "release_at": one.ends_at.isoformat()}
        emit(user_id=one.person_id, kind="instance.release_warning", payload=payload)
    else:
        payload = {**told, "delete_at": one.ends_at.isoformat()}
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
