# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `quotes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Quotes(AsyncResource):
    async def create(
        self,
        *,
        env: Mapping[str, Any] | UnsetType | None = UNSET,
        secrets: Mapping[str, Any] | UnsetType | None = UNSET,
        command: Sequence[str] | str | UnsetType | None = UNSET,
        args: Sequence[str] | str | UnsetType | None = UNSET,
        entrypoint: Sequence[str] | str | UnsetType | None = UNSET,
        workdir: str | UnsetType | None = UNSET,
        user: str | int | UnsetType | None = UNSET,
        shm_mb: int | UnsetType | None = UNSET,
        on_start: str | UnsetType | None = UNSET,
        readiness: Mapping[str, Any] | UnsetType | None = UNSET,
        launch_template: str | UnsetType | None = UNSET,
        inputs: Mapping[str, Any] | UnsetType | None = UNSET,
        offer: str | UnsetType | None = UNSET,
        instance: str | UnsetType | None = UNSET,
        gpu_count: int | UnsetType = UNSET,
        billing_mode: models.BillingMode | UnsetType = UNSET,
        image: str | UnsetType = UNSET,
        data_disk_gb: int | UnsetType = UNSET,
        term: models.Term | UnsetType | None = UNSET,
        payment: models.Payment | UnsetType | None = UNSET,
        max_price: Decimal | str | UnsetType | None = UNSET,
        hours: int | UnsetType | None = UNSET,
        allow_from: Sequence[str] | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.QuoteOut:
        """Quote an all-in price for an order, or for a change of the billing mode of an instance.

        Args:
            env: Environment variables by name
            secrets: Secret environment variables by name; only the names are ever returned
            command: Replaces the image's command: a list of arguments, or a line for /bin/sh -c
            args: Arguments appended to the command
            entrypoint: Replaces the image's entrypoint; with an official image, it precedes the command
            workdir: Working directory of the command; an absolute path
            user: User for the command and the start script: name, uid or uid:gid
            shm_mb: Size of /dev/shm in MB, part of the memory; default: half of it
            on_start: Script that runs once after each start; its log and exit code are available
            readiness: HTTP (200: ready, 204: starting) or TCP check of the program; never changes billing
            launch_template: tmpl_… or its slug, optionally with @version
            inputs: Values of the template's inputs by name; default: its defaults
            offer: offr_…; required unless `instance` is given
            instance: inst_…: change this instance in place; offer, GPUs, image and disk are then its own
            image: Slug or img_…
            data_disk_gb: Charged per GB-day above the free allowance
            term: For a reserved quote; one of the offer's terms
            payment: For a reserved quote; default: upfront
            max_price: For a spot quote: max price per GPU-hour, at least the floor price
            hours: Length of the projection; default: the whole term, otherwise one hour
            allow_from: Planned IP allowlist of SSH; only checked against the host, not stored
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/quotes",
                models.QuoteOut,
                body={
                    "env": env,
                    "secrets": secrets,
                    "command": command,
                    "args": args,
                    "entrypoint": entrypoint,
                    "workdir": workdir,
                    "user": user,
                    "shm_mb": shm_mb,
                    "on_start": on_start,
                    "readiness": readiness,
                    "launch_template": launch_template,
                    "inputs": inputs,
                    "offer": offer,
                    "instance": instance,
                    "gpu_count": gpu_count,
                    "billing_mode": billing_mode,
                    "image": image,
                    "data_disk_gb": data_disk_gb,
                    "term": term,
                    "payment": payment,
                    "max_price": max_price,
                    "hours": hours,
                    "allow_from": allow_from,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, quote_id: str, *, timeout: float | None = None) -> models.QuoteOut:
        """Return one of your quotes."""
        return await self._send(Call("GET", f"/api/v1/quotes/{self._part(quote_id)}", models.QuoteOut, timeout=timeout))
