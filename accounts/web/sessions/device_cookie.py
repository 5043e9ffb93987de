"""The cookie by which a browser is known again: it opens nothing, it only tells a new device from an old one."""

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.constants import DEVICE_KEPT

_NAME: Final = "device"
_HOST: Final = "__Host-"
_MOST_CHARS: Final = 100
_WAITING: Final = "device_to_keep"


def device_of(request: HttpRequest) -> str:
    """The browser's secret, "" when it has none."""
    secret = request.COOKIES.get(_cookie_name(), "")
    return secret if len(secret) <= _MOST_CHARS else ""


def remember_device(request: HttpRequest, secret: str) -> None:
    """Have the answer to this request bring the secret."""
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
    """With the prefix that no page of another name can set, where the session's cookie has it."""
    return f"{_HOST}{_NAME}" if settings.SESSION_COOKIE_NAME.startswith(_HOST) else _NAME
