"""Mail about notices: each at most once, whatever the number of workers, and none for a notice that was taken back."""

import logging
from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from common.database import use_case
from common.ids import public_id
from common.mail import MAIL_FAULTS, send_mail
from common.money import format_money
from instances.models import SpotBid
from instances.policy import SWEEP_BATCH
from instances.states import BidState

logger = logging.getLogger(__name__)


def send_notice_mails(*, now: datetime) -> int:
    """Write to everyone whose rent has notice and who has not been written to about it; how many messages left.

    A message is claimed before it is sent; one that the mail server refused is tried again while the notice stands.
    """
    due = SpotBid.objects.filter(state=BidState.NOTICE, mailed_at=None, yields_at__gt=now)
    bids = due.select_related("instance__renter").order_by("yields_at")[:SWEEP_BATCH]
    return sum(_send(bid) for bid in bids if _claim(bid, now))


def _claim(bid: SpotBid, now: datetime) -> bool:
    with use_case():
        same = SpotBid.objects.filter(pk=bid.pk, state=BidState.NOTICE, mailed_at=None, notice_at=bid.notice_at)
        return bool(same.update(mailed_at=now))


def _send(bid: SpotBid) -> bool:
    with override(bid.language):
        subject, body = _words(bid)
    try:
        send_mail(subject, body, None, [bid.instance.renter.email])
    except MAIL_FAULTS:
        logger.warning("mail about the notice of %s was not sent; it is tried again", bid.pk, exc_info=True)
        with use_case():
            SpotBid.objects.filter(pk=bid.pk, notice_at=bid.notice_at).update(mailed_at=None)
        return False
    return True


def _words(bid: SpotBid) -> tuple[str, str]:
    assert bid.yields_at is not None
    facts = {
        "name": bid.instance.name,
        "at": f"{bid.yields_at:%Y-%m-%d %H:%M:%S}",
        "max": format_money(bid.max_price_micros),
    }
    address = settings.SITE_URL + reverse("instance", args=[public_id("inst", bid.pk)])
    sentences = [
        _("%(name)s stops at %(at)s UTC: its GPUs go to others. Save your work now; the data disk is kept.") % facts,
        _("Raise your maximum of %(max)s per GPU and hour above the market price before that, and it may go on.") % facts,
        _("Otherwise it starts again by itself, on the same host, as soon as your bid wins."),
        address,
    ]
    return _("Notice: %(name)s is about to stop") % facts, "\n\n".join(sentences)
