"""Adapter of allauth: queues mail, and limits and logs log-in attempts by address and device."""

import math
from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth_context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from django.contrib.sites.shortcuts import get_current_site
from django.http import HttpRequest, HttpResponse

from accounts.constants import LOGIN_TRIES, LOGIN_TRIES_FOR_ADDRESS, LOGIN_TRIES_OF_NETWORK
from accounts.event_log.services import record_event
from accounts.mail.outbox import queue_mail
from accounts.selectors import id_of_address, is_known_device
from accounts.web.sessions.device_cookie import device_of
from common.db.transactions import use_case
from common.email_addresses import validate_email_address
from common.http.origin import address_of

_NO_ADDRESS: Final = "0.0.0.0"  # noqa: S104  (a Unix socket's client; nothing listens there)
_APP: Final = "berth.login"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no type information
    """Adapter of the site's accounts."""

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Queue a mail, rendered now in the reader's language; a worker sends it.

        So the response time does not reveal whether mail was sent.
        """
        request = allauth_context.request
        facts = {"request": request, "email": email, "current_site": get_current_site(request), **context}
        message = self.render_mail(template_prefix, email, facts)
        queue_mail(to=email, subject=message.subject, body=str(message.body))

    def clean_email(self, email: str) -> str:
        validate_email_address(email)
        return str(super().clean_email(email))

    def get_client_ip(self, request: HttpRequest) -> str:
        return address_of(request) or _NO_ADDRESS

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse to check a password after too many wrong ones.

        Wrong ones are counted from one network, for one account from one network, and for one account in all;
        the last limit is wide, since anybody can exhaust it. A browser that its owner has logged in with
        before is counted separately, so that no stranger can lock an owner out.
        """
        email = str(credentials.get("email", "")).lower()
        network = ratelimit.get_ip(request)
        secret = device_of(request)
        if is_known_device(email=email, secret=secret):
            keys = {LOGIN_TRIES: f"{email} {secret}"}
        else:
            keys = {
                LOGIN_TRIES_OF_NETWORK: network,
                LOGIN_TRIES: f"{email} {network}",
                LOGIN_TRIES_FOR_ADDRESS: email,
            }
        self._login_failed_rl_usage = ratelimit.RateLimitUsage(usage=[])
        for rate, key in keys.items():
            used = ratelimit.consume(request, app=_APP, action="failed", config={"failed": rate}, key=key)
            if used is None:
                self._login_failed_rl_usage.rollback()
                raise ImmediateHttpResponse(_too_many(request, rate))
            self._login_failed_rl_usage.usage += used.usage

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Record a failed log-in, also for an unknown address: equal work keeps the time from revealing it."""
        with use_case():
            record_event(user_id=id_of_address(str(credentials.get("email", ""))), kind="login.failed")


def _too_many(request: HttpRequest, rate: str) -> HttpResponse:
    response: HttpResponse = ratelimit.respond_429(request)
    (parsed,) = ratelimit.parse_rates(rate)
    response.headers["Retry-After"] = str(math.ceil(parsed.duration))
    return response
