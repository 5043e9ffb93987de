"""Discord: a webhook of a channel, https://docs.discord.com/developers/resources/webhook#execute-webhook.

`wait=true` because Discord otherwise answers before it has stored the message, and reports no error. Nobody is mentioned,
whatever the text says (`allowed_mentions`); mentions inside an embed would notify nobody anyway.
"""

import re
from datetime import datetime
from typing import Final

from accounts.notification_channels.formats.parts import (
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

FIELDS: Final = ("url",)
_URL: Final = re.compile(
    r"https://(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/([0-9]{5,25})/([A-Za-z0-9_-]{20,120})"
)
_TITLE_CHARS: Final = 256
_LINE_CHARS: Final = 500
_DESCRIPTION_CHARS: Final = 4_096
_ESCAPES: Final = {sign: f"\\{sign}" for sign in "\\`*_{}[]()<>#+-.!|~@:/"}
_TOO_MANY, _BAD_REQUEST, _GONE = 429, 400, (401, 403, 404)


def check(credentials: Credentials) -> Credentials:
    found = _URL.fullmatch(credentials.url)
    if found is None:
        raise WrongCredential("url", "discord_url")
    return Credentials(url=f"https://discord.com/api/webhooks/{found.group(1)}/{found.group(2)}")


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    title, *lines = note.texts
    embed: dict[str, object] = {
        "title": escape(title, _ESCAPES, _TITLE_CHARS),
        "description": lines_within([escape(line, _ESCAPES, _LINE_CHARS) for line in lines], _DESCRIPTION_CHARS),
        "timestamp": f"{note.at:%Y-%m-%dT%H:%M:%SZ}",
    }
    if note.link:
        embed["url"] = note.link
    message = {"embeds": [embed], "allowed_mentions": {"parse": []}}
    return ChannelRequest(f"{credentials.url}?wait=true", json_body(message), JSON_HEADERS)


def verdict(answer: Answer) -> Verdict:
    if answer.status == _TOO_MANY:
        retry_after = answer.json().get("retry_after")
        return rate_limited(answer.headers.get("retry-after") if retry_after is None else retry_after)
    if answer.status in _GONE:
        return refused("channel_gone")
    return Verdict("rejected") if answer.status == _BAD_REQUEST else by_status(answer)
