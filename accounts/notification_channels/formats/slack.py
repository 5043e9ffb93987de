"""Slack: an incoming webhook, https://api.slack.com/messaging/webhooks.

Titles are plain text; the rest is mrkdwn, of which only `&`, `<` and `>` start anything that notifies or links.
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
    cut,
    escape,
    json_body,
    lines_within,
    refused,
)

FIELDS: Final = ("url",)
_URL: Final = re.compile(r"https://hooks\.slack\.com/services/[A-Za-z0-9/_-]{10,200}")
_HEADER_CHARS: Final = 150
_LINE_CHARS: Final = 500
_SECTION_CHARS: Final = 3_000
_FALLBACK_CHARS: Final = 1_000
# The three that Slack asks to escape, and look-alikes of those for which mrkdwn has no escape.
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "*": "∗", "_": "＿", "~": "∼", "`": "ˋ"}
# What Slack answers where repeating is of no use, with 400, 403, 404 or 410: the webhook or its channel is gone.
_GONE: Final = frozenset(
    {
        *("no_service", "no_service_id", "no_team", "team_disabled", "invalid_token", "no_active_hooks"),
        *("channel_not_found", "channel_is_archived", "action_prohibited", "posting_to_general_channel_denied"),
        *("user_not_found", "account_inactive"),
    }
)


def check(credentials: Credentials) -> Credentials:
    if not _URL.fullmatch(credentials.url):
        raise WrongCredential("url", "slack_url")
    return Credentials(url=credentials.url)


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    title, *lines = note.texts
    link = f"<{note.link}|{escape(note.link_text, _ESCAPES, _LINE_CHARS)}>" if note.link else ""
    text = lines_within([escape(line, _ESCAPES, _LINE_CHARS) for line in lines], _SECTION_CHARS - len(link) - 1)
    blocks: list[dict[str, object]] = [
        {"type": "header", "text": {"type": "plain_text", "text": cut(title, _HEADER_CHARS), "emoji": False}}
    ]
    if text or link:
        whole = "\n".join(part for part in (text, link) if part)
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": whole, "verbatim": True}})
    message = {
        "text": escape(title, _ESCAPES, _FALLBACK_CHARS),
        "blocks": blocks,
        "unfurl_links": False,
        "unfurl_media": False,
        "link_names": False,
    }
    return ChannelRequest(credentials.url, json_body(message), JSON_HEADERS)


def verdict(answer: Answer) -> Verdict:
    if answer.status == 200 and answer.text() in ("ok", ""):  # noqa: PLR2004  (OK)
        return DELIVERED
    reply = answer.text() or ""
    if reply in _GONE:
        return refused("channel_gone")
    if reply.startswith("invalid_") or reply in ("no_text", "missing_text_or_fallback_or_attachments"):
        return Verdict("rejected")
    return by_status(answer)
