# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class DeviceLoginOut(Struct, frozen=True, kw_only=True):
    """A login that waits for a person.

    Attributes:
        device_code: For the program alone
        user_code: For the person
        verification_uri: Where the person types the code
        verification_uri_complete: The same with the code
        expires_in: Seconds
        interval: Seconds between two questions for the token
    """

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceTokenOut(Struct, frozen=True, kw_only=True):
    """The token, which is shown this once.

    Attributes:
        scope: Separated by spaces
    """

    access_token: str
    token_type: str
    scope: str
