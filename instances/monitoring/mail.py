"""Mail about alerts: queued once, together with the mark, and withdrawn when the alert is closed."""

from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.translation import override

from accounts.mail.outbox import queue_mail
from common.db.transactions import use_case
from common.ids import public_id
from instances.constants import ALERT_MAIL_TRIED, SWEEP_BATCH
from instances.core.alert_messages import sentences_of, title_of
from instances.models import Alert
from instances.monitoring.alert_selectors import alerts_to_mail


def queue_alert_mails(*, now: datetime) -> int:
    """Queue mails about open alerts that were not mailed yet, and return how many."""
    return sum(_queue(alert, now) for alert in alerts_to_mail(now)[:SWEEP_BATCH])


def _queue(alert: Alert, now: datetime) -> bool:
    renter = alert.instance.renter
    address = settings.SITE_URL + reverse("instance", args=[public_id("inst", alert.instance_id)])
    with override(renter.language):
        subject = f"{alert.instance.name}: {title_of(alert)}"
        body = "\n\n".join([*sentences_of(alert), address])
    with use_case():
        if not Alert.objects.filter(pk=alert.pk, mailed_at=None, resolved_at=None).update(mailed_at=now):
            return False  # another worker was faster, or the alert is closed
        queue_mail(
            to=renter.email,
            subject=subject,
            body=body,
            key=alert.mail_key,
            expires_at=alert.raised_at + ALERT_MAIL_TRIED,
        )
    return True
