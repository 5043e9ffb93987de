"""Mail about archives before deletion: when a worker dies none is lost, and at most one goes twice."""

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from common.database import use_case
from common.ids import public_id
from common.mail import MAIL_FAULTS, name_in_mail, send_mail
from storage.selectors.object_storage import syncs_to_mail
from storage.services.sync_mails import claim_mail, mark_mailed
from storage.states import SyncMail

if TYPE_CHECKING:
    from storage.models import Sync

logger = logging.getLogger(__name__)

CLAIM: Final = timedelta(minutes=2)
_WHY_CHARS: Final = 200


def send_archive_mails(*, now: datetime) -> int:
    """How many messages left."""
    return sum(_send(sync, now) for sync in syncs_to_mail() if _claim(sync, now))


def mail_words(sync: "Sync") -> tuple[str, str]:
    """Subject and sentence, in the language that is active."""
    told = {
        "name": sync.subject_name,
        "place": sync.connection_name,
        "folder": sync.folder,
        "files": sync.copied_files + sync.same_files,
        "why": f"{name_in_mail(sync.failure_detail, most=_WHY_CHARS)}.",  # as its host's agent has put it
    }
    if sync.mail == SyncMail.ARCHIVED:
        return _("%(name)s was archived") % told, _(
            "The data disk of %(name)s is in %(place)s, folder %(folder)s (%(files)s files). The instance is deleted now."
        ) % told
    if sync.mail == SyncMail.FAILED:
        return _("%(name)s could not be archived") % told, _(
            "The data disk of %(name)s is to be deleted and could not be copied to %(place)s: %(why)s It is tried "
            "again every hour for three days; after that the data is deleted. Check the connection, or start the instance."
        ) % told
    return _("%(name)s was deleted without an archive") % told, _(
        "Its data disk could not be copied to %(place)s for three days: %(why)s"
    ) % told


def _claim(sync: "Sync", now: datetime) -> bool:
    with use_case():
        return claim_mail(sync, now=now, since=now - CLAIM)


def _send(sync: "Sync", now: datetime) -> bool:
    address = settings.SITE_URL + reverse("instance", args=[public_id("inst", sync.subject_id)])
    with override(sync.owner.language):
        subject, sentence = mail_words(sync)
    try:
        send_mail(subject, f"{sentence}\n\n{address}", None, [sync.owner.email])
    except MAIL_FAULTS:
        logger.warning("mail about sync %s was not sent; it is tried again", sync.pk, exc_info=True)
        return False
    with use_case():
        mark_mailed(sync, now=now)
    return True
