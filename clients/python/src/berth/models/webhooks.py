# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct


class DeliveryOut(Struct, frozen=True, kw_only=True):
    """Delivery of one event to one webhook.

    Attributes:
        fault: Why the last attempt failed; empty once delivered
    """

    id: str
    event_id: str
    kind: str
    data: Any
    attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    gave_up_at: datetime | None
    status: int | None
    fault: str
    answer: str
    tries: Any
    created_at: datetime


class PaginatedDeliveryOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[DeliveryOut]


class PaginatedWebhookOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[WebhookOut]


WebhookKind = (
    Literal[
        "instance.started",
        "instance.stopped",
        "instance.failed",
        "instance.released",
        "instance.preempt_notice",
        "instance.schedule",
        "instance.release_warning",
        "storage.release_warning",
        "instance.archived",
        "instance.archive_failed",
        "sync.done",
        "sync.failed",
        "alert.raised",
        "alert.resolved",
        "webhook.test",
    ]
    | str
)


class WebhookOut(Struct, frozen=True, kw_only=True):
    """A webhook without its secret.

    Attributes:
        kinds: Empty: all
        former_secret_until: Until then, messages are also signed with the previous secret
    """

    id: str
    url: str
    kinds: list[str]
    description: str
    paused: bool
    failing_since: datetime | None
    former_secret_until: datetime | None
    created_at: datetime


class WebhookWithSecret(Struct, frozen=True, kw_only=True):
    """A webhook with its new secret, shown only once.

    Attributes:
        kinds: Empty: all
        former_secret_until: Until then, messages are also signed with the previous secret
        secret: null in a repeated response
    """

    id: str
    url: str
    kinds: list[str]
    description: str
    paused: bool
    failing_since: datetime | None
    former_secret_until: datetime | None
    created_at: datetime
    secret: str | None
