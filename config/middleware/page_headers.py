"""Middleware of pages: the language, except below the API, and headers that bind a page to its own origin."""

from csp.constants import NONCE, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware

PANEL_PREFIXES = ("/admin/", "/host-panel/")
API_PREFIX = "/api/"
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def site_policy(relay_url: str, web_host: str = "") -> dict[str, dict[str, object]]:
    """Everything from the own origin; scripts and styles from files or with the request's nonce; events from the relay.

    A form may lead on to programs of instances, which live below `web_host`.
    """
    return {
        "DIRECTIVES": {
            "default-src": [SELF],
            "script-src": [SELF, NONCE],
            "style-src": [SELF, NONCE],
            "img-src": [SELF, "data:"],  # allauth draws the TOTP code as a data: image
            "connect-src": [SELF, relay_url, f"ws{relay_url.removeprefix('http')}"] if relay_url else [SELF],
            "object-src": [NONE],
            "base-uri": [NONE],
            "form-action": [SELF, f"*.{web_host}"] if web_host else [SELF],
            "frame-ancestors": [NONE],
        }
    }


# unfold evaluates Alpine expressions and writes style attributes; it is open to staff and host owners only.
PANEL_CHANGES = {"script-src": [SELF, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}


class PageHeaders(CSPMiddleware):
    """The content security policy, a looser one for the admin panels, the permissions policy, and what may be stored."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        if _is_personal(request):
            response.headers["Cache-Control"] = "no-store, private"
        return super().process_response(request, response)

    def get_policy_parts(self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(PANEL_PREFIXES):
            parts.replace = {**PANEL_CHANGES, **(parts.replace or {})}
        return parts


def _is_personal(request: HttpRequest) -> bool:
    """Whoever brings or is given a session reads what nobody after them at the same browser, and no proxy, may find."""
    session = getattr(request, "session", None)
    return settings.SESSION_COOKIE_NAME in request.COOKIES or bool(session is not None and session.modified)


class PageLocale(LocaleMiddleware):
    """The visitor's language, except for the API, whose texts stay English (`api_fast_path` has set that)."""

    def process_request(self, request: HttpRequest) -> None:
        if not request.path_info.startswith(API_PREFIX):
            super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response if request.path_info.startswith(API_PREFIX) else super().process_response(request, response)
