"""Mail about archives before deletion; each is queued once, together with its mark."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.mail.outbox import queue_mail
from common.db.transactions import use_case
from common.ids import public_id
from common.messages.message import of_row
from common.messages.rendering import in_mail
from storage.object_sync.selectors import syncs_to_mail
from storage.object_sync.syncs import claim_mail
from storage.states import SyncMail

if TYPE_CHECKING:
    from storage.models import Sync


def queue_archive_mails(*, now: datetime) -> int:
    """Queue mails that are due and return how many."""
    return sum(_queue(sync, now) for sync in syncs_to_mail())


def mail_text(sync: "Sync") -> tuple[str, str]:
    """Return subject and sentence in the active language."""
    values = {
        "name": sync.subject_name,
        "place": sync.connection_name,
        "folder": sync.folder,
        "files": sync.copied_files + sync.same_files,
        "why": f"{_why(sync)}.",
    }
    if sync.mail == SyncMail.ARCHIVED:
        return _("%(name)s was archived") % values, _(
            "The data disk of %(name)s was archived to %(place)s, folder %(folder)s (%(files)s files). The"
            " instance is being deleted."
        ) % values
    if sync.mail == SyncMail.FAILED:
        return _("%(name)s couldn't be archived") % values, _(
            "The data disk of %(name)s is due for deletion and couldn't be copied to %(place)s: %(why)s"
            " We'll retry every hour for three days; then the data is deleted. Check the bucket connection,"
            " or start the instance."
        ) % values
    return _("%(name)s was deleted without an archive") % values, _(
        "The data disk couldn't be copied to %(place)s for three days: %(why)s"
    ) % values


def _queue(sync: "Sync", now: datetime) -> bool:
    address = settings.SITE_URL + reverse("instance", args=[public_id("inst", sync.subject_id)])
    with override(sync.owner.language):
        subject, sentence = mail_text(sync)
    with use_case():
        if not claim_mail(sync, now=now):
            return False  # another worker was faster
        queue_mail(
            to=sync.owner.email,
            subject=subject,
            body=f"{sentence}\n\n{address}",
            key=f"sync:{sync.pk.hex}:{sync.mail}",
        )
    return True


def _why(sync: "Sync") -> str:
    why = of_row(sync.failure_message, sync.failure_detail)
    return in_mail(why).rstrip(".") if why else "–"
