"""Telegram: a bot that writes to a chat, https://core.telegram.org/bots/api#sendmessage.

The text is in Telegram's HTML, of which `&`, `<` and `>` are all that has to be escaped; previews of links are off.
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
    escape,
    json_body,
    lines_within,
    rate_limited,
    refused,
)

FIELDS: Final = ("token", "chat_id")
_TOKEN: Final = re.compile(r"[0-9]{6,20}:[A-Za-z0-9_-]{30,60}")
_CHAT: Final = re.compile(r"-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,40}")
_TITLE_CHARS: Final = 256
_LINE_CHARS: Final = 500
_TEXT_CHARS: Final = 4_096  # after the markup was read; we count it too
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_TOO_MANY, _UNAUTHORIZED, _NOT_FOUND = 429, 401, 404
_BAD_REQUEST, _FORBIDDEN = 400, 403
_NO_CHAT: Final = (
    "chat not found",
    "upgraded to a supergroup",
    "not enough rights",
    "group chat was deactivated",
    "peer_id",
)


def check(credentials: Credentials) -> Credentials:
    if not _TOKEN.fullmatch(credentials.token):
        raise WrongCredential("token", "telegram_token")
    if not _CHAT.fullmatch(credentials.chat_id):
        raise WrongCredential("chat_id", "telegram_chat")
    return Credentials(token=credentials.token, chat_id=credentials.chat_id)


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    title, *lines = note.texts
    link = f'<a href="{_attribute(note.link)}">{escape(note.link_text, _ESCAPES, _LINE_CHARS)}</a>' if note.link else ""
    head = f"<b>{escape(title, _ESCAPES, _TITLE_CHARS)}</b>"
    room = _TEXT_CHARS - len(head) - len(link) - 2
    text = lines_within([escape(line, _ESCAPES, _LINE_CHARS) for line in lines], room)
    message = {
        "chat_id": credentials.chat_id,
        "text": "\n".join(part for part in (head, text, link) if part),
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
    }
    url = f"https://api.telegram.org/bot{credentials.token}/sendMessage"
    return ChannelRequest(url, json_body(message), JSON_HEADERS)


def verdict(answer: Answer) -> Verdict:
    reply = answer.json()
    if reply.get("ok") is True:
        return DELIVERED
    code = reply.get("error_code", answer.status)
    if code == _TOO_MANY:
        parameters = reply.get("parameters")
        seconds = parameters.get("retry_after") if isinstance(parameters, dict) else None
        return rate_limited(answer.headers.get("retry-after") if seconds is None else seconds)
    if code in (_UNAUTHORIZED, _NOT_FOUND):  # Telegram answers 404 to a token that is none
        return refused("credentials")
    description = str(reply.get("description", "")).lower()
    if code == _FORBIDDEN or (code == _BAD_REQUEST and any(words in description for words in _NO_CHAT)):
        return refused("channel_gone")
    if code == _BAD_REQUEST:
        return Verdict("rejected")
    return Verdict("status") if answer.status in range(200, 300) else by_status(answer)


def _attribute(url: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in url)
