# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

ChannelKind = (
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
        "billing.balance_low",
        "billing.out_of_funds",
        "billing.budget",
        "billing.auto_top_up_failed",
        "waitlist.ended",
    ]
    | str
)


class ChannelOut(Struct, frozen=True, kw_only=True):
    """A notification channel without its credentials.

    Attributes:
        kinds: Empty: all
        ends_with: Last characters of the address
        stopped_for: Why Berth turned it off: the error of the last attempt; empty if you paused it
    """

    id: str
    service: str
    name: str
    kinds: list[str]
    ends_with: str
    paused: bool
    stopped_for: str
    failing_since: datetime | None
    created_at: datetime


class NotificationOut(Struct, frozen=True, kw_only=True):
    """Delivery of one notification to one channel.

    Attributes:
        fault: Why the last attempt failed; empty once delivered
        answer: The service's response, without your credentials
    """

    id: str
    event_id: str
    kind: str
    attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    gave_up_at: datetime | None
    status: int | None
    fault: str
    answer: str
    tries: Any
    created_at: datetime


class PaginatedChannelOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[ChannelOut]


class PaginatedNotificationOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[NotificationOut]


Service = Literal["slack", "discord", "telegram", "feishu", "dingtalk", "wecom", "json"] | str
