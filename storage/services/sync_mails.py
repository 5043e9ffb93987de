"""Who writes which mail about a sync: claimed before it is sent, marked when the mail server has taken it."""

from datetime import datetime

from django.db.models import Q

from storage.models import Sync


def claim_mail(sync: Sync, *, now: datetime, since: datetime) -> bool:
    """Whether it is the caller's to send; a claim older than `since` is nobody's. Inside a use case."""
    free = Q(claimed_at=None) | Q(claimed_at__lte=since)
    return bool(Sync.objects.filter(free, pk=sync.pk, mail=sync.mail, mailed_at=None).update(claimed_at=now))


def mark_mailed(sync: Sync, *, now: datetime) -> None:
    """Unless another one has become due meanwhile. Inside a use case."""
    Sync.objects.filter(pk=sync.pk, mail=sync.mail).update(mailed_at=now)
