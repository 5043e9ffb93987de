# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class InvitationOut(Struct, frozen=True, kw_only=True):
    """An invitation with its secret, shown only once; it is also sent by email.

    Attributes:
        user_id: null until the invitation is accepted
        secret: null in a repeated response
    """

    id: str
    user_id: str | None
    name: str
    email: str
    role: str
    joined_at: datetime | None
    expires_at: datetime | None
    secret: str | None


class MemberOut(Struct, frozen=True, kw_only=True):
    """A member of a team, or an open invitation, valid until `expires_at`.

    Attributes:
        user_id: null until the invitation is accepted
    """

    id: str
    user_id: str | None
    name: str
    email: str
    role: str
    joined_at: datetime | None
    expires_at: datetime | None


class PaginatedMemberOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[MemberOut]


class PaginatedTeamOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[TeamOut]


Role = Literal["owner", "member"] | str


class SpendingOut(Struct, frozen=True, kw_only=True):
    """What one member spent in the month.

    Attributes:
        spent: Refunds are subtracted; hours count when they are charged
    """

    user_id: str
    email: str
    spent: str


class TeamOut(Struct, frozen=True, kw_only=True):
    """A team, with your role in it."""

    id: str
    name: str
    role: str
    created_at: datetime


class TransferOut(Struct, frozen=True, kw_only=True):
    """A transfer, shown as an entry on both statements."""

    id: str
    amount: str
    what: str
    at: datetime
