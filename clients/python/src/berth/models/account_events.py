# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class AccountEventOut(Struct, frozen=True, kw_only=True):
    """One entry of the account log.

    Attributes:
        subject: The affected object, by the name its owner knows; can be empty
        via: console, or a token and its prefix; empty: not caused by a request
        agent: Its user agent
    """

    id: str
    kind: str
    subject: str
    via: str
    address: str | None
    agent: str
    at: datetime


AccountEventOutKind = (
    Literal[
        "login",
        "login.new_device",
        "login.failed",
        "signup.again",
        "session.ended",
        "session.all_ended",
        "password.changed",
        "password.reset",
        "email.added",
        "email.changed",
        "email.removed",
        "factor.added",
        "factor.removed",
        "factor.failed",
        "token.created",
        "token.revoked",
        "token.all_revoked",
        "key.added",
        "key.removed",
        "webhook.added",
        "webhook.removed",
        "webhook.rotated",
        "channel.added",
        "channel.changed",
        "channel.removed",
        "channel.stopped",
        "profile.changed",
        "team.created",
        "team.deleted",
        "team.invited",
        "team.joined",
        "team.left",
        "team.role",
        "payout_account.changed",
        "payout.asked",
        "template.created",
        "template.version",
        "template.visibility",
        "template.link",
        "template.deleted",
        "template.approved",
        "template.rejected",
        "limit.set",
        "limit.changed",
        "limit.removed",
        "limit.auto_top_up",
    ]
    | str
)


class PaginatedAccountEventOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[AccountEventOut]
