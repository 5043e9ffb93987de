"""WeCom: a robot of a group, https://developer.work.weixin.qq.com/document/path/91770.

Messages are plain text of at most 2048 bytes, in which nobody is mentioned unless `mentioned_list` says so.
"""

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
    cut_bytes,
    json_body,
    rate_limited,
    refused,
    without_markup,
)

FIELDS: Final = ("url",)
_ADDRESS: Final = "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key="
_KEY: Final = re.compile(r"[A-Za-z0-9-]{16,80}")
_TEXT_BYTES: Final = 2_048
_RATE_LIMITED: Final = frozenset({45009, 45033})  # 20 messages a minute; too many at once
_MINUTE_S: Final = 60
_GONE: Final = frozenset({93000, 93004})
_WRONG_TEXT: Final = frozenset({40008, 40058, 44004, 45002})


def check(credentials: Credentials) -> Credentials:
    """Accept the whole address, or the key alone."""
    key = credentials.url.removeprefix(_ADDRESS)
    if not _KEY.fullmatch(key):
        raise WrongCredential("url", "wecom_url")
    return Credentials(url=_ADDRESS + key)


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    link = f"\n{without_markup(note.link_text)}: {note.link}" if note.link else ""
    text = "\n".join(without_markup(text) for text in note.texts)
    content = cut_bytes(f"Berth · {text}", _TEXT_BYTES - len(link.encode())) + link
    message = {"msgtype": "text", "text": {"content": content, "mentioned_list": [], "mentioned_mobile_list": []}}
    return ChannelRequest(credentials.url, json_body(message), JSON_HEADERS)


def verdict(answer: Answer) -> Verdict:
    """Return what the code means; HTTP says 200 to refusals."""
    code = answer.json().get("errcode")
    if code == 0:
        return DELIVERED
    if code in _RATE_LIMITED:
        return rate_limited(_MINUTE_S)
    if code in _GONE:
        return refused("channel_gone")
    if code in _WRONG_TEXT:
        return Verdict("rejected")
    found = by_status(answer)
    return found if found.fault else Verdict("status")
