# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class DeviceLoginOut(Struct, frozen=True, kw_only=True):
    """A device login that waits for the user.

    Attributes:
        device_code: For the program only
        user_code: For the user
        verification_uri: Where the user enters the code
        verification_uri_complete: The same URL with the code
        expires_in: Seconds
        interval: Minimum seconds between two polls for the token
    """

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceTokenOut(Struct, frozen=True, kw_only=True):
    """The token, shown only once.

    Attributes:
        scope: Separated by spaces
    """

    access_token: str
    token_type: str
    scope: str
