"""JSON to a program of the user's own: the words of a notification and what they were made of.

With a secret, it is signed as in https://www.standardwebhooks.com, like webhooks are.
"""

import base64
import binascii
import hashlib
import hmac
import re
from datetime import datetime
from typing import Final

from accounts.constants import WEBHOOK_SECRET_MARK
from accounts.notification_channels.formats.parts import (
    JSON_HEADERS,
    Answer,
    ChannelRequest,
    Credentials,
    Notification,
    Verdict,
    WrongCredential,
    by_status,
    json_body,
    refused,
)

FIELDS: Final = ("url", "secret")
_SECRET: Final = re.compile(r"[!-~]{16,200}")
_GONE: Final = 410


def check(credentials: Credentials) -> Credentials:
    """Check the secret; whether the address may be contacted is a question for `common.http.outbound`."""
    if not credentials.url:
        raise WrongCredential("url", "json_url")
    if credentials.secret and not _SECRET.fullmatch(credentials.secret):
        raise WrongCredential("secret", "secret")
    return Credentials(url=credentials.url, secret=credentials.secret)


def request(note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest:
    title, *lines = note.texts
    message = {
        "id": note.id,
        "type": note.kind,
        "timestamp": f"{note.at:%Y-%m-%dT%H:%M:%S.%f}Z",
        "title": title,
        "text": "\n".join(lines),
        "link": note.link or None,
        "data": note.facts,
    }
    body = json_body(message)
    headers = {**JSON_HEADERS, "webhook-id": note.id}
    if credentials.secret:
        stamp = str(int(at.timestamp()))
        headers |= {
            "webhook-timestamp": stamp,
            "webhook-signature": signature(credentials.secret, note_id=note.id, stamp=stamp, body=body),
        }
    return ChannelRequest(credentials.url, body, headers)


def signature(secret: str, *, note_id: str, stamp: str, body: bytes) -> str:
    signed = hmac.digest(_key(secret), f"{note_id}.{stamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def _key(secret: str) -> bytes:
    """Return the bytes of a secret: those in Base64 behind `whsec_`, or the text's own."""
    if not secret.startswith(WEBHOOK_SECRET_MARK):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(WEBHOOK_SECRET_MARK), validate=True)
    except binascii.Error:
        return secret.encode()


def verdict(answer: Answer) -> Verdict:
    return refused("channel_gone") if answer.status == _GONE else by_status(answer)
