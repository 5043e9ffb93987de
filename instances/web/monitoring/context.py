"""Template context of open alerts in words."""

from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from instances.core.alert_messages import TITLES, sentences_of, title_of
from instances.models import Alert, Instance
from instances.monitoring.alert_selectors import alerts_of

_SHOWN: Final = 20

ALERT_EVENTS: Final[dict[str, str | Promise]] = {
    **{f"alert_{kind}": words for kind, words in TITLES.items()},
    "alert_over": _("An alert ended"),
}


def alert_rows(renter: User, instance: Instance | None = None) -> list[dict[str, Any]]:
    """Return the open alerts, newest first."""
    open_ones = alerts_of(renter, instance_id=instance.pk if instance else None, open_only=True)
    return [alert_row(alert) for alert in open_ones[:_SHOWN]]


def alert_row(alert: Alert) -> dict[str, Any]:
    return {"alert": alert, "title": title_of(alert), "sentences": sentences_of(alert)}
