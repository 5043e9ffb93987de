"""What all formats share: a notification in words, credentials, requests, verdicts, and texts that fit and are harmless."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any, Final

from common.printable import replace_unprintable

_LONGEST_RETRY_S: Final = 86_400


@dataclass(frozen=True)
class Notification:
    """One notification, worded in its reader's language; `lines` and `title` may hold what others have written."""

    id: str
    kind: str
    at: datetime
    title: str
    lines: tuple[str, ...] = ()
    link: str = ""
    link_text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """Return title and lines, each as one printable line."""
        return [one_line(text) for text in (self.title, *self.lines)]


@dataclass(frozen=True)
class Credentials:
    """Everything that must not be known of a channel; it is never part of a text."""

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    chat_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)

    def values(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value}


class WrongCredential(Exception):
    """Raised for a field that the service's format refuses; the value is not part of the text."""

    def __init__(self, name: str, code: str) -> None:
        super().__init__(f"{name}: {code}")
        self.name = name
        self.code = code


@dataclass(frozen=True)
class ChannelRequest:
    """POST that a service wants; the address is as secret as a password."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Mapping[str, Any]:
        """Return the body as a JSON object; an empty one for anything else."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def text(self) -> str:
        return self.body.decode("utf-8", "replace").strip()


@dataclass(frozen=True)
class Verdict:
    """What an answer means; without a `fault` the message has arrived.

    `refused` says that it will not help to repeat it: the channel itself is gone or its credentials are wrong.
    """

    fault: str = ""
    refused: bool = False
    retry_after_s: float | None = None


DELIVERED: Final = Verdict()


def refused(fault: str) -> Verdict:
    return Verdict(fault, refused=True)


def rate_limited(seconds: object = None) -> Verdict:
    """Return the verdict of a service that wants us to slow down, with its own idea of how long."""
    return Verdict("rate_limited", retry_after_s=_seconds(seconds))


def by_status(answer: Answer) -> Verdict:
    """Return the verdict by the HTTP status, for answers that say nothing better."""
    if answer.status in range(200, 300):
        return DELIVERED
    if answer.status == 429:  # noqa: PLR2004  (Too Many Requests)
        return rate_limited(answer.headers.get("retry-after"))
    return Verdict("redirect" if answer.status in range(300, 400) else "status")


def json_body(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


JSON_HEADERS: Final = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Berth-Notifications/1"}


def one_line(text: str) -> str:
    """Return the text in one line, without control, direction and other invisible characters."""
    return " ".join(replace_unprintable(text).split())


def cut(text: str, most: int) -> str:
    """Return at most `most` characters, as UTF-16 counts them: some services do."""
    return escape(text, {}, most)


def escape(text: str, escapes: Mapping[str, str], most: int) -> str:
    """Return the text with each of these characters replaced, cut to `most` UTF-16 units after that.

    An escape is never cut in two.
    """
    pieces = [escapes.get(character, character) for character in text]
    sizes = [_utf16(piece) for piece in pieces]
    if sum(sizes) <= most:
        return "".join(pieces)
    kept = sum(total <= most - 1 for total in accumulate(sizes))
    return "".join(pieces[:kept]) + "…"


def lines_within(lines: Sequence[str], most: int) -> str:
    """Return as many whole lines as there is room for, joined."""
    totals = accumulate(_utf16(line) + 1 for line in lines)
    return "\n".join(lines[: sum(total - 1 <= most for total in totals)])


def cut_bytes(text: str, most: int) -> str:
    """Return at most `most` bytes of UTF-8, never half of a character."""
    encoded = text.encode()
    if len(encoded) <= most:
        return text
    return encoded[: most - len("…".encode())].decode("utf-8", "ignore") + "…"


# What has a meaning in the texts of Feishu, DingTalk or WeCom, which document no way to escape it.
_FULL_WIDTH: Final = str.maketrans({"<": "＜", ">": "＞", "@": "＠"})


def without_markup(text: str) -> str:
    """Return the text with full-width forms of the signs of which mentions and tags are made."""
    return text.translate(_FULL_WIDTH)


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _seconds(value: object) -> float | None:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # a service may send anything
    except (TypeError, ValueError, OverflowError):
        return None
    return min(seconds, _LONGEST_RETRY_S) if math.isfinite(seconds) and seconds > 0 else None
