"""Answers without a thread or the database: refusals for programs and browsers, and `/healthz`."""

from dataclasses import dataclass, field
from functools import cache
from typing import Final

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from common.errors import Busy, DomainError
from common.http.problems import PROBLEM_TYPE, problem_body
from common.json import to_json
from config.constants import PROGRAM_PREFIXES
from config.front.policy import RETRY_S
from config.middleware.api_fast_path import BodyTooLarge

Header = tuple[str, str]
_SAFE: Final[tuple[Header, ...]] = (("cache-control", "no-store"), ("x-content-type-options", "nosniff"))
_POLICY: Final[Header] = ("content-security-policy", "default-src 'none'; style-src 'self'; script-src 'self'")


class BodyTooLate(DomainError):
    code = "body_too_late"
    status = 408
    title = "The request body didn't arrive in time"


@dataclass(frozen=True)
class Reply:
    """A complete answer."""

    status: int
    headers: list[Header] = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True, eq=False)
class Refusal:
    """A refusal, with its text for programs and its text for people."""

    error: DomainError
    title: str | Promise
    advice: str | Promise
    headers: tuple[Header, ...] = ()

    def problem(self) -> Reply:
        return Reply(
            self.error.status,
            [("content-type", PROBLEM_TYPE), *_SAFE, *self.headers],
            to_json(problem_body(self.error)),
        )

    def page(self, language: str) -> Reply:
        headers = [("content-type", "text/html; charset=utf-8"), _POLICY, *_SAFE, *self.headers]
        return Reply(self.error.status, headers, _page(self, language))


@cache
def _page(refusal: Refusal, language: str) -> bytes:
    """Render the page, once: it does not depend on who reads it."""
    with translation.override(language):
        facts = {"language": language, "title": refusal.title, "advice": refusal.advice}
        return render_to_string("refused.html", facts).encode()


def reply_of(refusal: Refusal, *, path: str, accept: str, cookies: str, languages: str) -> Reply:
    """Return a page in the browser's language, or a problem document for any other client."""
    if "text/html" not in accept or path.startswith(PROGRAM_PREFIXES):
        return refusal.problem()
    chosen = f"{settings.LANGUAGE_COOKIE_NAME}="
    wanted = cookies.partition(chosen)[2] if chosen in cookies else languages
    return refusal.page("zh-hans" if wanted.lower().startswith("zh") else "en")


_CLOSE: Final[Header] = ("connection", "close")  # the rest of the body is not awaited
BUSY: Final = Refusal(
    Busy("More is asked of the market than it can answer right now. Nothing was done: send the request again."),
    _("Berth is busy right now."),
    _("Nothing was changed. Try again in a few seconds."),
    (("retry-after", str(RETRY_S)),),
)
TOO_LATE: Final = Refusal(
    BodyTooLate("The request body didn't arrive in time. Nothing was done; send the whole request again."),
    _("The request timed out."),
    _("Nothing was changed. Check your connection and try again."),
    (_CLOSE,),
)


@cache
def too_large(most: int) -> Refusal:
    return Refusal(
        BodyTooLarge(f"At most {most} bytes."),
        _("The request is too large."),
        _("Nothing was changed. Reduce the size of the request."),
        (_CLOSE,),
    )


HEALTHY: Final = Reply(200, [("content-type", "application/json"), *_SAFE], to_json({"status": "ok"}))
