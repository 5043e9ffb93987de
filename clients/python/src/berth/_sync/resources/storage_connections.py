# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `storage_connections`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class StorageConnections(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedConnectionOutList, models.ConnectionOut]:
        """List your connections to object storage.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/storage-connections",
                models.PaginatedConnectionOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.ConnectionOut,
        )

    def create(
        self,
        *,
        key_id: str,
        secret: str,
        name: str,
        endpoint: str,
        bucket: str,
        region: str | UnsetType = UNSET,
        prefix: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.ConnectionOut:
        """Test a connection and save it; its key must be able to list the folder.

        Args:
            secret: Stored encrypted; never shown again
            endpoint: https://s3.eu-central-1.amazonaws.com, or just the host name
            region: Default: us-east-1, which suits most services without regions
            prefix: A folder in the bucket; all paths are relative to it
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/storage-connections",
                models.ConnectionOut,
                body={
                    "key_id": key_id,
                    "secret": secret,
                    "name": name,
                    "endpoint": endpoint,
                    "bucket": bucket,
                    "region": region,
                    "prefix": prefix,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, connection_id: str, *, timeout: float | None = None) -> models.ConnectionOut:
        """Return one of your connections."""
        return self._send(
            Call("GET", f"/api/v1/storage-connections/{self._part(connection_id)}", models.ConnectionOut, timeout=timeout)
        )

    def login(self, connection_id: str, *, key_id: str, secret: str, timeout: float | None = None) -> models.ConnectionOut:
        """Test a new access key for a connection and replace the old one.

        Args:
            secret: Stored encrypted; never shown again
        """
        return self._send(
            Call(
                "PUT",
                f"/api/v1/storage-connections/{self._part(connection_id)}",
                models.ConnectionOut,
                body={"key_id": key_id, "secret": secret},
                timeout=timeout,
            )
        )

    def remove(self, connection_id: str, *, timeout: float | None = None) -> None:
        """Delete a connection and its schedules.

        Running syncs continue.
        """
        return self._send(
            Call("DELETE", f"/api/v1/storage-connections/{self._part(connection_id)}", type(None), timeout=timeout)
        )
