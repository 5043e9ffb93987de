"""DingTalk: a custom robot of a group, https://open.dingtalk.com/document/robots/custom-robot-access.

Messages are plain text, in which nobody is mentioned unless `at` says so. With a signing secret, "timestamp, line break,
secret" is signed with it; the time is in milliseconds, and both are parameters of the address.
"""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from accounts.notification_channels.formats.parts import (
    DELIVERED,
    JSON_HEADERS,
    Answer,
    ChannelRequest,
    Credentials,
    Notification,
    Verdict,
    WrongCredential,
    by_status,
    cut,
    json_body,
    lines_within,
    rate_limited,
    refused,
    without_markup,
)

FIELDS: Final = ("url", "secret")
_URL: Final = re.compile(r"https://oapi\.dingtalk\.com/robot/send\?access_token=([A-Za-z0-9]{20,128})")
_SECRET: Final = re.compile(r"SEC[A-Za-z0-9]{20,128}")
_LINE_CHARS: Final = 500
_TEXT_CHARS: Final = 4_000
_PENALTY_S: Final = 600  # after more than 20 messages in a minute nothing is accepted for ten minutes
_RATE_LIMITED: Final = frozenset({130101, 410100, 90030})
_BUSY: Final = -1
_GONE: Final = frozenset({300001, 400101, 400102, 400013, 40014})
_SECURITY: Final = 310000
_WRONG_TEXT: Final = frozenset({40035, 400105, 410103, 430101, 430102, 430103, 430104})


def check(credentials: Credentials) -> Credentials:
    if not _URL.fullmatch(credentials.url):
        raise WrongCredential("url", "dingtalk_url")
    if credentials.secret and not _SECRET.fullmatch(credentials.secret):
        raise WrongCredential("secret", "dingtalk_secret")
    return Credentials(url=credentials.url, secret=credentials.secret)


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    title, *lines = [cut(without_markup(text), _LINE_CHARS) for text in note.texts]
    link = f"{cut(without_markup(note.link_text), _LINE_CHARS)}: {note.link}" if note.link else ""
    head = f"Berth · {title}"  # robots that ask for a keyword are given this one
    text = lines_within([head, *lines], _TEXT_CHARS - len(link) - 1)
    content = "\n".join(part for part in (text, link) if part)
    message = {"msgtype": "text", "text": {"content": content}, "at": {"isAtAll": False}}
    return ChannelRequest(f"{credentials.url}{_signed(credentials.secret, at)}", json_body(message), JSON_HEADERS)


def _signed(secret: str, at: datetime) -> str:
    if not secret:
        return ""
    stamp = str(int(at.timestamp() * 1000))
    return "&" + urlencode({"timestamp": stamp, "sign": signature(secret, stamp)})


def signature(secret: str, stamp: str) -> str:
    return base64.b64encode(hmac.digest(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256)).decode()


def verdict(answer: Answer) -> Verdict:
    """Return what the code means; HTTP says 200 to refusals."""
    code = answer.json().get("errcode")
    if code == 0:
        return DELIVERED
    if code in _RATE_LIMITED:
        return rate_limited(_PENALTY_S)
    if code in _GONE:
        return refused("channel_gone")
    if code == _SECURITY:
        return refused(_why(str(answer.json().get("errmsg", ""))))
    if code in _WRONG_TEXT:
        return Verdict("rejected")
    found = by_status(answer)
    return found if found.fault else Verdict("status")


def _why(reply: str) -> str:
    if "keyword" in reply.lower():
        return "keyword"
    return "not_allowed_address" if "ip" in reply.lower().split() else "signature"
