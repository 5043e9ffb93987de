"""Webhook messages, signed as in https://www.standardwebhooks.com: existing libraries verify them."""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from typing import Any

from accounts.constants import WEBHOOK_SECRET_MARK
from accounts.models import Webhook, WebhookEvent
from common.encryption import decrypt
from common.ids import public_id

_AGENT = "Berth-Webhooks/1"


def body_of(event: WebhookEvent) -> bytes:
    """Return the body, the same bytes at each attempt; a receiver recognises repetitions by its `id`."""
    message: dict[str, Any] = {
        "id": public_id("evt", event.pk),
        "type": event.kind,
        "timestamp": f"{event.at:%Y-%m-%dT%H:%M:%S.%f}Z",
        "data": event.payload,
    }
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(webhook: Webhook, event: WebhookEvent, body: bytes, *, at: datetime) -> dict[str, str]:
    """Return the headers, with a signature by the present secret and, for a day, by the former one."""
    message_id, stamp = public_id("evt", event.pk), str(int(at.timestamp()))
    signatures = [_signature(secret, message_id, stamp, body) for secret in secrets_of(webhook, at)]
    return {
        "Content-Type": "application/json",
        "User-Agent": _AGENT,
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(signatures),
    }


def _signature(secret: str, message_id: str, stamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(WEBHOOK_SECRET_MARK))
    signed = hmac.digest(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def secrets_of(webhook: Webhook, at: datetime) -> list[str]:
    """Return the secrets that are valid at this moment, the present one first."""
    secrets = [decrypt(webhook.sealed_secret)]
    if webhook.sealed_former and webhook.former_until is not None and at < webhook.former_until:
        secrets.append(decrypt(webhook.sealed_former))
    return secrets
