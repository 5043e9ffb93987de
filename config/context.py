"""Template context of every page."""

from django.conf import settings
from django.http import HttpRequest

from common import clock
from config.constants import EVENT_TICKET_LIFETIME
from config.page_events import relay_url_for


def site_context(request: HttpRequest) -> dict[str, object]:
    """Return the currency and the user's event stream.

    `events_url` is the relay's stream for the signed-in user, valid for `EVENT_TICKET_LIFETIME`; empty without a
    user.
    """
    context: dict[str, object] = {"currency": settings.MARKET_CURRENCY, "events_url": ""}
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        context["events_url"] = relay_url_for("events", user=user, expires_at=clock.now() + EVENT_TICKET_LIFETIME)
    return context
