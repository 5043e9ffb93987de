"""Cookie by which a browser is recognised; it grants nothing, and only tells known devices from new."""

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.constants import DEVICE_KEPT

_NAME: Final = "device"
_HOST: Final = "__Host-"
_MOST_CHARS: Final = 100
_WAITING: Final = "device_to_keep"


def device_of(request: HttpRequest) -> str:
    """Return the browser's secret, or an empty text."""
    secret = request.COOKIES.get(_cookie_name(), "")
    return secret if len(secret) <= _MOST_CHARS else ""


def set_device_cookie(request: HttpRequest, secret: str) -> None:
    """Set the secret as a cookie in the response to this request."""
    setattr(request, _WAITING, secret)


def keep_device(request: HttpRequest, response: HttpResponse) -> None:
    secret = getattr(request, _WAITING, "")
    if secret:
        response.set_cookie(
            _cookie_name(),
            secret,
            max_age=int(DEVICE_KEPT.total_seconds()),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def _cookie_name() -> str:
    """Return the cookie's name, with the `__Host-` prefix where the session's cookie has it.

    No page of another host can set a cookie with that prefix.
    """
    return f"{_HOST}{_NAME}" if settings.SESSION_COOKIE_NAME.startswith(_HOST) else _NAME
