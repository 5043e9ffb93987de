"""Mail to renters whose instance has ended because its host was written off."""

from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.mail.outbox import queue_mail
from common import clock
from common.ids import public_id
from common.mail import name_in_mail
from instances.models import Instance
from storage.images.selectors import last_backup_sync, own_saved_images


def queue_renter_mail(instance: Instance, *, since: datetime) -> None:
    """Queue the mail in the transaction that ends the instance, once for each."""
    renter = instance.renter
    with override(renter.language):
        subject, body = mail_text(instance, since=since)
    queue_mail(to=renter.email, subject=subject, body=body, key=f"write-off:{instance.pk.hex}")


def mail_text(instance: Instance, *, since: datetime) -> tuple[str, str]:
    """Return subject and body in the active language."""
    values = {"name": instance.name, "host": name_in_mail(instance.host.name), "at": f"{clock.format_minute(since)} UTC"}
    sentences = [
        _("%(name)s has ended: its host %(host)s didn't come back and was written off.") % values,
        _(
            "This is the host's fault. Time since its last report at %(at)s isn't billed, and money held or"
            " paid ahead is back in your wallet."
        )
        % values,
        _("The disks, volumes and snapshots stored on the host are lost."),
        *_rescues(instance),
        _("Find similar GPUs: %(url)s") % {"url": market_url(instance)},
        settings.SITE_URL + reverse("instance", args=[public_id("inst", instance.pk)]),
    ]
    return _("%(name)s has ended: its host is lost") % values, "\n\n".join(sentences)


def market_url(instance: Instance) -> str:
    """Return the address of a market search for the same GPUs and region."""
    query = {"gpu_model": instance.offer.gpu_model, "gpu_count": instance.gpu_count, "region": instance.host.region}
    return f"{settings.SITE_URL}{reverse('market')}?{urlencode(query)}"


def _rescues(instance: Instance) -> list[str]:
    """Return sentences about copies of the data that exist elsewhere."""
    found = []
    copy = last_backup_sync(instance.pk)
    if copy is not None:
        values = {
            "place": name_in_mail(copy.connection_name),
            "folder": copy.folder,
            "at": clock.format_minute(copy.ended_at or copy.created_at),
        }
        found.append(_("A copy of its data disk from %(at)s UTC is in %(place)s, folder %(folder)s.") % values)
    images = own_saved_images(instance.pk)
    if images:
        names = ", ".join(name_in_mail(image.title) for image in images)
        found.append(_("Images saved from it that you can use: %(names)s.") % {"names": names})
    return found
