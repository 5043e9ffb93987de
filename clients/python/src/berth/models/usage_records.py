# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct

from berth.models.shared import SignedOut


class RecordsOut(Struct, frozen=True, kw_only=True):
    """Signed usage records, oldest first.

    Attributes:
        key_id: ID of the key at /.well-known/berth-ledger-key
        next: `after` of the next page; null at the end
    """

    key_id: str
    records: list[SignedOut]
    next: int | None
