"""Feishu and Lark: a custom bot of a group, https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot.

Messages are rich text (`post`), whose parts are plain: a mention would be a part of its own. With signature verification
on, the key of the HMAC is "timestamp, line break, secret" and the message is empty; the time is in seconds.
"""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from typing import Final

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
    rate_limited,
    refused,
    without_markup,
)

FIELDS: Final = ("url", "secret")
_URL: Final = re.compile(r"https://open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/[A-Za-z0-9_-]{16,80}")
_SECRET: Final = re.compile(r"[!-~]{8,100}")
_TITLE_CHARS: Final = 200
_LINE_CHARS: Final = 500
_MOST_LINES: Final = 12  # far below the 20 KB of a request
_RATE_LIMITED: Final = frozenset({11232, 99991400})
_BAD_SIGNATURE: Final = 19021
_REFUSED: Final = {19001: "channel_gone", _BAD_SIGNATURE: "signature", 19022: "not_allowed_address", 19024: "keyword"}
_BAD_REQUEST: Final = 9499


def check(credentials: Credentials) -> Credentials:
    if not _URL.fullmatch(credentials.url):
        raise WrongCredential("url", "feishu_url")
    if credentials.secret and not _SECRET.fullmatch(credentials.secret):
        raise WrongCredential("secret", "secret")
    return Credentials(url=credentials.url, secret=credentials.secret)


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    title, *lines = note.texts
    rows: list[list[dict[str, object]]] = [
        [{"tag": "text", "text": cut(without_markup(line), _LINE_CHARS)}] for line in lines[:_MOST_LINES]
    ]
    if note.link:
        rows.append([{"tag": "a", "text": cut(without_markup(note.link_text), _LINE_CHARS), "href": note.link}])
    post = {"title": f"Berth · {cut(without_markup(title), _TITLE_CHARS)}", "content": rows}
    message: dict[str, object] = {"msg_type": "post", "content": {"post": {"zh_cn": post}}}
    if credentials.secret:
        stamp = str(int(at.timestamp()))
        message |= {"timestamp": stamp, "sign": signature(credentials.secret, stamp)}
    return ChannelRequest(credentials.url, json_body(message), JSON_HEADERS)


def signature(secret: str, stamp: str) -> str:
    key = f"{stamp}\n{secret}".encode()
    return base64.b64encode(hmac.digest(key, b"", hashlib.sha256)).decode()


def verdict(answer: Answer) -> Verdict:
    """Return what the code means; HTTP says 200 to most refusals."""
    reply = answer.json()
    code = reply.get("code", reply.get("StatusCode"))
    if code == 0:
        return DELIVERED
    if code in _RATE_LIMITED:
        return rate_limited(answer.headers.get("x-ogw-ratelimit-reset"))
    if isinstance(code, int) and code in _REFUSED:
        return refused(_REFUSED[code])
    if code == _BAD_REQUEST:
        return Verdict("rejected")
    found = by_status(answer)
    return found if found.fault else Verdict("status")
