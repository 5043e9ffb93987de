"""Mail to the owner of volumes, snapshots and images that were lost with their host."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.mail.outbox import queue_mail
from accounts.models import User
from common import clock
from common.mail import name_in_mail

if TYPE_CHECKING:
    from marketplace.models import Host


def queue_lost_mail(*, owner: User, names: Sequence[str], host: "Host", since: datetime) -> None:
    """Queue the mail in the transaction that ends the storage."""
    with override(owner.language):
        values = {
            "host": name_in_mail(host.name),
            "names": ", ".join(name_in_mail(name) for name in names),
            "at": f"{clock.format_minute(since)} UTC",
        }
        subject = _("Data on host %(host)s was lost") % values
        body = "\n\n".join(
            (
                _("Host %(host)s didn't come back and was written off. Lost with it: %(names)s.") % values,
                _("Time since its last report at %(at)s isn't billed.") % values,
                settings.SITE_URL + reverse("volumes"),
            )
        )
    queue_mail(to=owner.email, subject=subject, body=body)
