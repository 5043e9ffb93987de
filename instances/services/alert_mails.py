"""Mail about alerts: when a worker dies none is lost, and at most one goes twice."""

import logging
from datetime import datetime

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import override

from common.database import use_case
from common.ids import public_id
from common.mail import MAIL_FAULTS, send_mail
from instances.alert_words import sentences_of, title_of
from instances.models import Alert
from instances.policy import ALERT_MAIL_CLAIM, SWEEP_BATCH
from instances.selectors.alerts import alerts_to_mail

logger = logging.getLogger(__name__)


def send_alert_mails(*, now: datetime) -> int:
    """Write to the renters of what is amiss and was not written about; how many messages left."""
    return sum(_send(alert, now) for alert in alerts_to_mail(now)[:SWEEP_BATCH] if _claim(alert, now))


def _claim(alert: Alert, now: datetime) -> bool:
    free = Q(claimed_at=None) | Q(claimed_at__lte=now - ALERT_MAIL_CLAIM)
    with use_case():
        return bool(Alert.objects.filter(free, pk=alert.pk, mailed_at=None).update(claimed_at=now))


def _send(alert: Alert, now: datetime) -> bool:
    renter = alert.instance.renter
    address = settings.SITE_URL + reverse("instance", args=[public_id("inst", alert.instance_id)])
    with override(renter.language):
        subject = f"{alert.instance.name}: {title_of(alert)}"
        body = "\n\n".join([*sentences_of(alert), address])
    try:
        send_mail(subject, body, None, [renter.email])
    except MAIL_FAULTS:
        logger.warning("mail about alert %s was not sent; it is tried again", alert.pk, exc_info=True)
        return False
    with use_case():
        Alert.objects.filter(pk=alert.pk).update(mailed_at=now)
    return True
