"""Middleware for pages: the language, except for the API, and security headers."""

from csp.constants import NONCE, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware

PANEL_PREFIXES = ("/admin/", "/host-panel/")
API_PREFIX = "/api/"
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def site_policy(relay_url: str, web_host: str = "") -> dict[str, dict[str, object]]:
    """Return the content security policy.

    Everything comes from the own origin, scripts and styles from files or with the request's nonce, and events from
    the relay. A form may redirect to instances' web programs, which are below `web_host`.
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


# unfold evaluates Alpine expressions and writes style attributes; the panels are open to staff and host owners only.
PANEL_CHANGES = {"script-src": [SELF, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}


class PageHeaders(CSPMiddleware):
    """Sets the content security policy (a looser one for panels), the permissions policy and caching."""

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
    """Return whether the response belongs to a session, so that neither browsers nor proxies may store it."""
    session = getattr(request, "session", None)
    return settings.SESSION_COOKIE_NAME in request.COOKIES or bool(session is not None and session.modified)


class PageLocale(LocaleMiddleware):
    """Selects the visitor's language, except for the API, whose texts stay in English (`api_fast_path`)."""

    def process_request(self, request: HttpRequest) -> None:
        if not request.path_info.startswith(API_PREFIX):
            super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response if request.path_info.startswith(API_PREFIX) else super().process_response(request, response)
