"""What every template may use: the market's name, currency and the page-event stream of the signed-in user."""

from django.conf import settings
from django.http import HttpRequest

from agents.protocol.tickets import sign_ticket
from common import clock
from config.policy import EVENT_TICKET_LIFETIME


def site(request: HttpRequest) -> dict[str, object]:
    """`events_url` is the relay's stream of the signed-in user, valid for `EVENT_TICKET_LIFETIME`; else empty."""
    context: dict[str, object] = {"currency": settings.MARKET_CURRENCY, "events_url": ""}
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        expires = int((clock.now() + EVENT_TICKET_LIFETIME).timestamp())
        ticket = sign_ticket(settings.RELAY_SECRET, topic=f"user:{user.pk.hex}", expires_at=expires)
        context["events_url"] = f"{settings.RELAY_URL}/relay/v1/events?ticket={ticket}"
    return context
