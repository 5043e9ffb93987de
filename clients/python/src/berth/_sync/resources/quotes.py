# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `quotes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class Quotes(Resource):
    def create(
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
            command: Instead of the image's: a list of words, or a line that /bin/sh -c runs
            args: Added to the command
            entrypoint: Instead of the image's; of an official image, in front of the command
            workdir: Where the command starts; an absolute path
            user: Who runs the command and the start script: name, uid or uid:gid
            shm_mb: Size of /dev/shm in MB, part of the memory; left out: half of it
            on_start: Script that runs once after each start; its log and exit code can be read
            readiness: HTTP (200: ready, 204: starting) or TCP check of the program; never changes billing
            launch_template: tmpl_… or its slug, each alone or as …@version
            inputs: Values of the template's inputs by name; left out: its presets
            offer: offr_…; required unless `instance` is given
            instance: inst_…: a change in place of this instance; then offer, GPUs, image and disk are its own
            image: Slug or img_…
            data_disk_gb: Above the free quota it costs per GB-day
            term: Of a reserved quote; one that the offer sells
            payment: Of a reserved quote; left out: upfront
            max_price: Of a spot quote: the most per GPU and hour, the floor at least
            hours: How long the projection looks ahead; left out: the whole term, else one hour
            allow_from: Networks that SSH is to be restricted to later: checked against the host, and not stored
        """
        return self._send(
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

    def get(self, quote_id: str, *, timeout: float | None = None) -> models.QuoteOut:
        """Return one of your quotes."""
        return self._send(Call("GET", f"/api/v1/quotes/{self._part(quote_id)}", models.QuoteOut, timeout=timeout))
