"""Who writes which mail about a sync: it is marked in the transaction that puts the mail into the outbox."""

from datetime import datetime

from storage.models import Sync


def mark_mailed(sync: Sync, *, now: datetime) -> bool:
    """Whether its mail is the caller's to queue: nobody was faster, and no other has become due. Inside a use case."""
    return bool(Sync.objects.filter(pk=sync.pk, mail=sync.mail, mailed_at=None).update(mailed_at=now))
