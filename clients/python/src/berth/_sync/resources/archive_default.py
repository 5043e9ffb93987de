# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `archive_default`."""

from __future__ import annotations

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class ArchiveDefault(Resource):
    def get(self, *, timeout: float | None = None) -> models.ArchiveDefaultOut:
        """Archiving of the data disks of all instances without a choice of their own."""
        return self._send(Call("GET", "/api/v1/archive-default", models.ArchiveDefaultOut, timeout=timeout))

    def set(self, *, connection: str | None, timeout: float | None = None) -> models.ArchiveDefaultOut:
        """Set where data disks are archived unless an instance says otherwise.

        Args:
            connection: conn_…; null: nothing is archived
        """
        return self._send(
            Call(
                "PUT", "/api/v1/archive-default", models.ArchiveDefaultOut, body={"connection": connection}, timeout=timeout
            )
        )
