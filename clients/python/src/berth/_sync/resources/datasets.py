# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `datasets`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Datasets(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedDataSetOutList, models.DataSetOut]:
        """List public data sets.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/datasets", models.PaginatedDataSetOutList, query={"limit": limit}, timeout=timeout),
            models.DataSetOut,
        )

    def publish(
        self,
        *,
        snapshot: str,
        slug: str,
        title: str,
        description: str | UnsetType = UNSET,
        licence: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.DataSetOut:
        """Publish one of your own snapshots for everyone to read.

        Only staff may do that.

        Args:
            snapshot: snap_…: one of your own
            slug: Mounted at /pub/<slug>
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/datasets",
                models.DataSetOut,
                body={"snapshot": snapshot, "slug": slug, "title": title, "description": description, "licence": licence},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, slug: str, *, timeout: float | None = None) -> models.DataSetOut:
        """Return one public data set."""
        return self._send(Call("GET", f"/api/v1/datasets/{self._part(slug)}", models.DataSetOut, timeout=timeout))

    def withdraw(self, slug: str, *, timeout: float | None = None) -> None:
        """Withdraw a public data set, so that no further instance can mount it.

        Only staff may do that.
        """
        return self._send(Call("DELETE", f"/api/v1/datasets/{self._part(slug)}", type(None), timeout=timeout))

    def attach(
        self,
        slug: str,
        *,
        instance: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceStorageOut:
        """Mount a public data set in a stopped instance on its host, starting with the next start.

        Args:
            instance: inst_…: a stopped instance on the same host
        """
        return self._send(
            Call(
                "POST",
                f"/api/v1/datasets/{self._part(slug)}/attach",
                models.InstanceStorageOut,
                body={"instance": instance},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def detach(
        self,
        slug: str,
        *,
        instance: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceStorageOut:
        """Unmount a public data set from an instance, which must be stopped.

        Args:
            instance: inst_…: a stopped instance on the same host
        """
        return self._send(
            Call(
                "POST",
                f"/api/v1/datasets/{self._part(slug)}/detach",
                models.InstanceStorageOut,
                body={"instance": instance},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
