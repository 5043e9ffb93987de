"""Marking of mails about syncs as sent, in the transaction that puts the mail into the outbox."""

from datetime import datetime

from storage.models import Sync


def mark_mailed(sync: Sync, *, now: datetime) -> bool:
    """Mark the sync's mail as queued and return whether the caller is to queue it.

    False when another process was faster, or when another mail has become due meanwhile. Call it inside a use case.
    """
    return bool(Sync.objects.filter(pk=sync.pk, mail=sync.mail, mailed_at=None).update(mailed_at=now))
