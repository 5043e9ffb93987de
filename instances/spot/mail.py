"""Mail about notices; each is queued once, together with its mark, and withdrawn with its notice."""

from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.mail.outbox import queue_mail
from common.db.transactions import use_case
from common.ids import public_id
from common.money import format_money
from instances.constants import SWEEP_BATCH
from instances.models import SpotBid
from instances.states import BidState


def queue_notice_mails(*, now: datetime) -> int:
    """Queue mails to renters with a notice that were not mailed, and return how many.

    None is sent after the notice is over.
    """
    due = SpotBid.objects.filter(state=BidState.NOTICE, mailed_at=None, yields_at__gt=now)
    bids = due.select_related("instance__renter").order_by("yields_at")[:SWEEP_BATCH]
    return sum(_queue(bid, now) for bid in bids)


def _queue(bid: SpotBid, now: datetime) -> bool:
    with override(bid.language):
        subject, body = _message(bid)
    with use_case():
        same = SpotBid.objects.filter(pk=bid.pk, state=BidState.NOTICE, mailed_at=None, notice_at=bid.notice_at)
        if not same.update(mailed_at=now):
            return False  # another worker was faster, or the notice was withdrawn
        queue_mail(to=bid.instance.renter.email, subject=subject, body=body, key=bid.mail_key, expires_at=bid.yields_at)
    return True


def _message(bid: SpotBid) -> tuple[str, str]:
    assert bid.yields_at is not None
    facts = {
        "name": bid.instance.name,
        "at": f"{bid.yields_at:%Y-%m-%d %H:%M:%S}",
        "max": format_money(bid.max_price_micros),
    }
    address = settings.SITE_URL + reverse("instance", args=[public_id("inst", bid.pk)])
    sentences = [
        _("%(name)s stops at %(at)s UTC: its GPUs go to another renter. Save your work now; the data disk is kept.") % facts,
        _("Raise your max price (now %(max)s per GPU-hour) above the spot price before then to try to keep it.") % facts,
        _("Otherwise it starts again automatically, on the same host, when the spot price allows."),
        address,
    ]
    return _("%(name)s will be interrupted") % facts, "\n\n".join(sentences)
