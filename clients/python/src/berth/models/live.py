# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Live(Struct, frozen=True, kw_only=True):
    """Addresses for waiting for the next change, valid until `expires_at`.

    A path without an origin is relative to the site.

    Attributes:
        wait_url: GET with `&since=N`: answers `{"version": M}` as soon as M differs from N, or after 20 to 30 s.
            Who may read instances gets `changes`, where all since N are known: each `instance` and the `state` that
            it came to; `&instance=…` and `&state=…` wait for those alone
        events_url: GET: server-sent events, `change` with the version as id
    """

    wait_url: str
    events_url: str
    expires_at: datetime
