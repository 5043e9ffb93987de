"""Calls become requests, replies become objects or errors. Nothing here opens a connection."""

import platform
import random
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

import msgspec

from berth import errors
from berth._core.calls import Call, Fault, Pause, Reply, Request
from berth._core.retries import RetryPolicy, pause_before_retry, retry_after
from berth._version import __version__

T = TypeVar("T")
# A script is run by a driver: it yields what is to be done, gets the outcome, and returns the result.
Script: TypeAlias = Generator[Request | Pause, Reply | Fault | None, T]

_KNOWN_MEMBERS = frozenset({"type", "title", "status", "detail", "code", "errors"})
_READS = frozenset({"GET", "HEAD"})
_OK, _NOT_FOUND, _REDIRECTS = range(200, 300), 404, range(300, 400)
_LAST_TEXT = 200
_NOT_JSON = (msgspec.DecodeError, RecursionError)  # the latter: a hundred thousand brackets


@dataclass(frozen=True)
class Site:
    """Where and as whom the client asks."""

    url: str
    token: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    application: str = ""
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        if not _is_market(self.url):
            raise errors.ConfigurationError(
                f"Not an address of a market: {self.url!r}. It looks like https://berth.example.org"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise errors.ConfigurationError("The token has characters that no token has.")

    @property
    def user_agent(self) -> str:
        own = f"berth-python/{__version__} (Python {platform.python_version()}; {platform.system()})"
        return f"{self.application} {own}".strip()


def _is_market(url: str) -> bool:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, half an IPv6 address
        return False
    return usable and parts.username is None and url.isprintable() and " " not in url


def path_part(value: str) -> str:
    """Return a value as one segment of a path; an empty one or `..` would lead elsewhere."""
    if value in ("", ".", ".."):
        raise errors.ConfigurationError(f"Not an id: {value!r}")
    return quote(value, safe="")


def build(call: Call[Any], site: Site) -> Request:
    """Return the request of a call."""
    headers = {"Accept": "application/json", "User-Agent": site.user_agent}
    if site.token and not call.anonymous:
        headers["Authorization"] = f"Bearer {site.token}"
    body = None
    if call.body is not None:
        body = msgspec.json.encode({name: value for name, value in call.body.items() if value is not msgspec.UNSET})
        headers["Content-Type"] = "application/json"
    if call.key is not None:
        headers["Idempotency-Key"] = call.key
    query = _query(call.query, dry_run=call.dry_run)
    url = urljoin(site.url.rstrip("/") + "/", call.path.lstrip("/")) if call.path.startswith("/") else call.path
    joint = "&" if "?" in url else "?"
    timeout = site.timeout if call.timeout is None else call.timeout
    return Request(call.method, f"{url}{joint}{query}" if query else url, headers, body, timeout)


def _query(values: Mapping[str, Any], *, dry_run: bool) -> str:
    pairs = [(name, text) for name, value in values.items() for text in _texts(value)]
    return urlencode([*pairs, *([("dry_run", "true")] if dry_run else [])])


def _texts(value: Any) -> Iterable[str]:
    if value is msgspec.UNSET or value is None:
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, datetime):
        return [value.isoformat()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [text for each in value for text in _texts(each)]
    return [str(value)]


def read(call: Call[T], reply: Reply) -> T:
    """Return the answer.

    Raises:
        APIError: the API refused the request.
        DecodeError: the answer isn't what the document promises.
    """
    if reply.status not in _OK:
        raise errors.refusal(problem_of(reply))
    if call.answer is type(None):
        return None
    if call.answer is bytes:
        return reply.body  # type: ignore[return-value]  # T is bytes
    if call.answer is str:
        return reply.body.decode(errors="replace")  # type: ignore[return-value]  # T is str
    try:
        return msgspec.json.decode(reply.body, type=call.answer)
    except _NOT_JSON as error:
        text = f"The answer to {call.method} {call.path} isn't what the API promises: {error}"
        raise errors.DecodeError(text) from error


def problem_of(reply: Reply) -> errors.Problem:
    """Return the problem document of a refusal; a proxy's page becomes one too."""
    request_id, wait = reply.headers.get("x-request-id"), retry_after(reply)
    try:
        found = msgspec.json.decode(reply.body)
    except _NOT_JSON:
        found = None
    if not isinstance(found, dict) or "code" not in found:
        detail, code = _foreign(reply)
        return errors.Problem(reply.status, code, detail, detail, request_id=request_id, retry_after=wait)
    return errors.Problem(
        status=reply.status,
        code=str(found["code"]),
        title=str(found.get("title", "")),
        detail=str(found.get("detail", "")),
        fields=tuple(_field_errors(found.get("errors"))),
        extra={name: value for name, value in found.items() if name not in _KNOWN_MEMBERS},
        request_id=request_id,
        retry_after=wait,
    )


def _foreign(reply: Reply) -> tuple[str, str]:
    if reply.status in _REDIRECTS:
        to = reply.headers.get("location", "elsewhere")
        return f"The address redirects to {to}: use that one.", "redirected"
    text = " ".join(reply.body[:_LAST_TEXT].decode(errors="replace").split())
    return f"HTTP {reply.status}, and not from Berth: {text or 'no text'}", "not_berth"


def _field_errors(found: Any) -> Iterable[errors.FieldError]:
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            yield errors.FieldError(*(str(each.get(name, "")) for name in ("field", "code", "detail")))


def exchange(call: Call[T], site: Site) -> Script[T]:
    """Send a call until it is answered, refused or not worth another attempt; the request stays the same."""
    request, doubtful = build(call, site), False
    for attempt in range(site.retries.retries + 1):
        outcome = yield request
        assert outcome is not None
        outcome = _without_garbage(call, outcome)
        pause = pause_before_retry(site.retries, call, outcome, attempt, random.random())  # noqa: S311 it spreads load
        if pause is None:
            return _result(call, outcome, doubtful=doubtful)
        doubtful = doubtful or (isinstance(outcome, Fault) and outcome.sent)
        yield Pause(pause)
    raise AssertionError("the last attempt has no pause")


def _without_garbage(call: Call[Any], outcome: Reply | Fault) -> Reply | Fault:
    """Return a fault for a success whose JSON is cut off or none: what it said is unknown, as if it had been lost."""
    if isinstance(outcome, Fault) or outcome.status not in _OK or call.answer in (type(None), bytes, str):
        return outcome
    try:
        msgspec.json.decode(outcome.body, type=msgspec.Raw)
    except _NOT_JSON as error:
        return Fault(f"The answer is not JSON: {error}", sent=True)
    return outcome


def _result(call: Call[T], outcome: Reply | Fault, *, doubtful: bool) -> T:
    if isinstance(outcome, Reply):
        if doubtful and call.method == "DELETE" and outcome.status == _NOT_FOUND and call.answer is type(None):
            return None  # an attempt whose answer was lost has removed it
        return read(call, outcome)
    kind = errors.RequestTimeout if outcome.timed_out else errors.ConnectionFailed
    raise kind(f"{outcome.detail}{_doubt(call) if doubtful or outcome.sent else ''}")


def _doubt(call: Call[Any]) -> str:
    """Return what is said of a request that may have been acted upon, although every answer was lost."""
    if call.dry_run or call.method in _READS:
        return ""
    again = f" Repeat it with the Idempotency-Key {call.key}: then it is done once." if call.key is not None else ""
    return f" The market may have got the request.{again}"
