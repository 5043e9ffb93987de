# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `storage_hosts`."""

from __future__ import annotations

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class StorageHosts(Resource):
    def list(self, *, timeout: float | None = None) -> tuple[models.StorageHostOut, ...]:
        """List the hosts that can store volumes now, with their price per GB."""
        return self._send(Call("GET", "/api/v1/storage-hosts", tuple[models.StorageHostOut, ...], timeout=timeout))
