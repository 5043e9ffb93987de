# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `device_logins`."""

from __future__ import annotations

from collections.abc import Sequence

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class DeviceLogins(Resource):
    def create(
        self,
        *,
        client: str,
        scopes: Sequence[models.Scopes],
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.DeviceLoginOut:
        """Start a device login, for a program on a machine without a browser (RFC 8628).

        Args:
            client: Program and machine, as shown to the user; also the token's name
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/device-logins",
                models.DeviceLoginOut,
                body={"client": client, "scopes": scopes},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def token(
        self, *, device_code: str, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.DeviceTokenOut:
        """Poll for the token of a device login.

        Until the user allows it, the response is 400 with the code `authorization_pending`; `slow_down`,
        `access_denied` and `expired_token` are as in RFC 8628.
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/device-logins/token",
                models.DeviceTokenOut,
                body={"device_code": device_code},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
