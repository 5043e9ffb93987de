# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `instances`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Instances(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, state: Sequence[str] | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedInstanceOutList, models.InstanceOut]:
        """Your instances.

        Args:
            limit: Rows in a page
            state: Only these; left out: all that are not gone
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/instances",
                models.PaginatedInstanceOutList,
                query={"limit": limit, "state": state},
                timeout=timeout,
            ),
            models.InstanceOut,
        )

    async def create(
        self,
        *,
        quote_id: str,
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
        auto_renew: bool | UnsetType = UNSET,
        offer: str | UnsetType | None = UNSET,
        image: str | UnsetType | None = UNSET,
        gpu_count: int | UnsetType | None = UNSET,
        billing_mode: models.BillingMode | UnsetType | None = UNSET,
        data_disk_gb: int | UnsetType | None = UNSET,
        term: models.Term | UnsetType | None = UNSET,
        payment: models.Payment | UnsetType | None = UNSET,
        max_total: Decimal | str | UnsetType | None = UNSET,
        signature: str | UnsetType | None = UNSET,
        name: str | UnsetType = UNSET,
        ssh_key_ids: Sequence[str] | UnsetType | None = UNSET,
        volume_ids: Sequence[str] | UnsetType = UNSET,
        data_sets: Sequence[str] | UnsetType = UNSET,
        ports: Sequence[int] | UnsetType = UNSET,
        udp_ports: Sequence[int] | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Rent an instance by a quote.

        With volumes, launch settings, and an image that is not the market's own, also need the scope
        `instances:connect`, since its programs can read them.

        Args:
            quote_id: quot_…
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
            auto_renew: Of a reserved term: again at its end, at the price then
            offer: This and the next ones: refused unless the quote says the same
            image: Slug or img_…
            max_total: Refused when due_now or projected_total is more
            signature: As the quote has it
            ssh_key_ids: key_…; left out: all of the account, those added later too
            volume_ids: vol_…: volumes on the offer's host, found at /mnt/<name>
            data_sets: Public data sets there, found at /pub/<slug>
            ports: Extra container ports to publish
            udp_ports: Further ones, published for UDP as well as TCP; refused on hosts that can't (`udp_unsupported`)
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/instances",
                models.InstanceOut,
                body={
                    "quote_id": quote_id,
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
                    "auto_renew": auto_renew,
                    "offer": offer,
                    "image": image,
                    "gpu_count": gpu_count,
                    "billing_mode": billing_mode,
                    "data_disk_gb": data_disk_gb,
                    "term": term,
                    "payment": payment,
                    "max_total": max_total,
                    "signature": signature,
                    "name": name,
                    "ssh_key_ids": ssh_key_ids,
                    "volume_ids": volume_ids,
                    "data_sets": data_sets,
                    "ports": ports,
                    "udp_ports": udp_ports,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """One of your instances."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}", models.InstanceOut, timeout=timeout)
        )

    async def update(
        self,
        instance_id: str,
        *,
        locked: bool | UnsetType = UNSET,
        schedule: models.SchedulePatch | UnsetType = UNSET,
        idle_stop: models.IdleStop | UnsetType | None = UNSET,
        name: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """One of your instances.

        Args:
            locked: Refuses release and re-imaging, timed release too
            idle_stop: null: it is not stopped for idling
        """
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/instances/{self._part(instance_id)}",
                models.InstanceOut,
                body={"locked": locked, "schedule": schedule, "idle_stop": idle_stop, "name": name},
                timeout=timeout,
            )
        )

    async def release(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Release an instance: its container and its data are deleted.

        Repeating it changes nothing.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}", models.InstanceOut, timeout=timeout)
        )

    async def access(self, instance_id: str, *, timeout: float | None = None) -> models.AccessOut:
        """Return the addresses of an instance and who may log in."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/access", models.AccessOut, timeout=timeout)
        )

    async def access_change(
        self,
        instance_id: str,
        *,
        ssh_key_ids: Sequence[str] | UnsetType | None = UNSET,
        allow_from: Sequence[str] | UnsetType = UNSET,
        ports: Sequence[int] | UnsetType = UNSET,
        udp_ports: Sequence[int] | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.AccessOut:
        """Change keys, allowed networks and extra ports.

        This also needs the scope `instances:connect`.

        Args:
            ssh_key_ids: key_…; null: all of the account, those added later too
            allow_from: Networks in CIDR from which SSH answers; empty: from everywhere
            ports: All extra container ports; they change at the next start or restart
            udp_ports: Those published for UDP as well as TCP; left out: those of `ports` that had UDP keep it
        """
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/instances/{self._part(instance_id)}/access",
                models.AccessOut,
                body={"ssh_key_ids": ssh_key_ids, "allow_from": allow_from, "ports": ports, "udp_ports": udp_ports},
                timeout=timeout,
            )
        )

    async def alert_rules(self, instance_id: str, *, timeout: float | None = None) -> models.AlertRules:
        """The kinds of alerts that are muted for an instance."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/alert-rules", models.AlertRules, timeout=timeout)
        )

    async def alert_rules_set(
        self, instance_id: str, *, muted: Sequence[models.AlertKind], timeout: float | None = None
    ) -> models.AlertRules:
        """Set the kinds of alerts that are muted for an instance; open ones of them are closed."""
        return await self._send(
            Call(
                "PUT",
                f"/api/v1/instances/{self._part(instance_id)}/alert-rules",
                models.AlertRules,
                body={"muted": muted},
                timeout=timeout,
            )
        )

    async def archive(self, instance_id: str, *, timeout: float | None = None) -> models.ArchiveOut:
        """Archiving of an instance's data disk before it is deleted after a long stop."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/archive", models.ArchiveOut, timeout=timeout)
        )

    async def archive_set(
        self,
        instance_id: str,
        *,
        archive: models.Archive,
        connection: str | UnsetType | None = UNSET,
        timeout: float | None = None,
    ) -> models.ArchiveOut:
        """Archiving of an instance's data disk before it is deleted after a long stop.

        Args:
            archive: account: as the account's default says
            connection: conn_…, with on
        """
        return await self._send(
            Call(
                "PUT",
                f"/api/v1/instances/{self._part(instance_id)}/archive",
                models.ArchiveOut,
                body={"archive": archive, "connection": connection},
                timeout=timeout,
            )
        )

    async def bid(
        self,
        instance_id: str,
        *,
        max_price: Decimal | str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Change the maximum of a bid without touching the container.

        A notice is withdrawn when the new maximum wins in time.

        Args:
            max_price: Per GPU and hour, the offer's floor at least
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/bid",
                models.InstanceOut,
                body={"max_price": max_price},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def bid_withdraw(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Withdraw the bid of an instance that has yielded, so that it does not start by itself.

        Repeating it changes nothing.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}/bid", models.InstanceOut, timeout=timeout)
        )

    async def cancel_move(
        self, instance_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.InstanceOut:
        """Cancel a clone or migration while it copies.

        The source is as before, and an unfinished clone is released.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/cancel-move",
                models.InstanceOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def clone(
        self,
        instance_id: str,
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
        quote_id: str | UnsetType | None = UNSET,
        offer: str | UnsetType | None = UNSET,
        gpu_count: int | UnsetType | None = UNSET,
        max_hourly_rate: Decimal | str | UnsetType | None = UNSET,
        data_disk: bool | UnsetType = UNSET,
        name: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Clone a stopped instance into a new one, with a copy of its data disk or without.

        The clone is rented like any other instance, hourly at the offer's present price unless a quote says
        otherwise. It is `copying` until everything has arrived, and charged once it runs; the source can be started
        again after the copying. Other launch settings also need the scope `instances:connect`.

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
            quote_id: quot_…, hourly or tiered, for the instance's image and size of data disk
            offer: offr_…; left out: the present one, on the same host
            gpu_count: Left out: as many as now
            max_hourly_rate: Refused with price_changed above this, data disk included
            data_disk: False: without it; a quote may bring a fresh one
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/clone",
                models.InstanceOut,
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
                    "quote_id": quote_id,
                    "offer": offer,
                    "gpu_count": gpu_count,
                    "max_hourly_rate": max_hourly_rate,
                    "data_disk": data_disk,
                    "name": name,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def convert(
        self,
        instance_id: str,
        *,
        quote_id: str,
        max_total: Decimal | str | UnsetType | None = UNSET,
        signature: str | UnsetType | None = UNSET,
        auto_renew: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Change the billing mode of an instance without interrupting it, by a quote for this instance.

        Args:
            quote_id: quot_…, made for this instance
            max_total: Refused when due_now or projected_total is more
            signature: As the quote has it
            auto_renew: Of a reserved term: again at its end, at the price then
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/convert",
                models.InstanceOut,
                body={"quote_id": quote_id, "max_total": max_total, "signature": signature, "auto_renew": auto_renew},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def events(
        self, instance_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedEventOutList, models.EventOut]:
        """List what happened to an instance, newest first.

        Args:
            limit: Rows in a page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/events",
                models.PaginatedEventOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.EventOut,
        )

    async def exec(
        self,
        instance_id: str,
        *,
        command: Sequence[str] | str,
        stdin: str | UnsetType | None = UNSET,
        stdin_encoding: models.OutputEncoding | UnsetType = UNSET,
        env: Mapping[str, Any] | UnsetType | None = UNSET,
        user: str | int | UnsetType | None = UNSET,
        workdir: str | UnsetType | None = UNSET,
        timeout_seconds: int | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.CommandOut:
        """Run a command in a running instance, without SSH.

        The response comes at once; read the result at `/exec/{command_id}`. The command runs at most once, and with an
        `Idempotency-Key` once for all repetitions of the request. After `timeout_seconds` it is ended with everything
        that it started.

        Args:
            command: A list of words, which no shell reads, or a line that /bin/sh -c runs
            stdin: Its input, at most 64 KiB
            stdin_encoding: base64 for any bytes
            env: Variables beside those of the instance
            user: Who runs it: name, uid or uid:gid; left out: root
            workdir: Where it starts, an absolute path; left out: the image's own
            timeout_seconds: After which it is ended with everything that it started
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/exec",
                models.CommandOut,
                body={
                    "command": command,
                    "stdin": stdin,
                    "stdin_encoding": stdin_encoding,
                    "env": env,
                    "user": user,
                    "workdir": workdir,
                    "timeout_seconds": timeout_seconds,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def exec_result(self, instance_id: str, command_id: str, *, timeout: float | None = None) -> models.CommandOut:
        """Return a command with its result, until an hour after its end."""
        return await self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/exec/{self._part(command_id)}",
                models.CommandOut,
                timeout=timeout,
            )
        )

    async def exec_cancel(self, instance_id: str, command_id: str, *, timeout: float | None = None) -> models.CommandOut:
        """End a command that still runs, and erase its output.

        Repeating it changes nothing.
        """
        return await self._send(
            Call(
                "DELETE",
                f"/api/v1/instances/{self._part(instance_id)}/exec/{self._part(command_id)}",
                models.CommandOut,
                timeout=timeout,
            )
        )

    async def extend(
        self,
        instance_id: str,
        *,
        max_total: Decimal | str | UnsetType | None = UNSET,
        signature: str | UnsetType | None = UNSET,
        quote_id: str | UnsetType | None = UNSET,
        auto_renew: bool | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Renew the reserved term ahead by a quote, or set whether it is renewed automatically.

        Args:
            max_total: Refused when due_now or projected_total is more
            signature: As the quote has it
            quote_id: quot_…: the renewal; it begins when the present term ends
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/extend",
                models.InstanceOut,
                body={"max_total": max_total, "signature": signature, "quote_id": quote_id, "auto_renew": auto_renew},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def keep(
        self,
        instance_id: str,
        *,
        days: int,
        max_fee: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Keep the data of a stopped instance so many days longer, for a fee that is held at once.

        Args:
            max_fee: Refused when it costs more
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/keep",
                models.InstanceOut,
                body={"days": days, "max_fee": max_fee},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def launch_update(
        self,
        instance_id: str,
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
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Change what a stopped instance runs from its next start on; of a running one, restart it with the changes.

        This also needs the scope `instances:connect`, since what runs there can read the kept data and the secrets.

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
        """
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/instances/{self._part(instance_id)}/launch",
                models.InstanceOut,
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
                },
                timeout=timeout,
            )
        )

    async def logs(
        self,
        instance_id: str,
        *,
        q: str | UnsetType = UNSET,
        since: datetime | str | UnsetType | None = UNSET,
        source: str | UnsetType = UNSET,
        tail: int | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.LogsOut:
        """Return lines that the programs of an instance have logged.

        Repeat the request while `reading` is true.

        Args:
            q: Only lines that hold this, whatever the case
            source: on_start: the start script's log, not the container's
            tail: The last so many that match
        """
        return await self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/logs",
                models.LogsOut,
                query={"q": q, "since": since, "source": source, "tail": tail},
                timeout=timeout,
            )
        )

    async def metrics(
        self,
        instance_id: str,
        *,
        minutes: int | UnsetType = UNSET,
        step: int | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.MetricsOut:
        """Return usage over time: GPU, its memory, power and temperature, CPU, memory, disk, network.

        Args:
            minutes: How far to look back
            step: Seconds between two points; left out: at least 20, so that there are about 240. 1 is there for two
                hours
        """
        return await self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/metrics",
                models.MetricsOut,
                query={"minutes": minutes, "step": step},
                timeout=timeout,
            )
        )

    async def migrate(
        self,
        instance_id: str,
        *,
        quote_id: str | UnsetType | None = UNSET,
        offer: str | UnsetType | None = UNSET,
        gpu_count: int | UnsetType | None = UNSET,
        max_hourly_rate: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Migrate a stopped instance to another host, with its id, name, history, root and data disk.

        It starts on the new host when everything has arrived; until it has run there, the old host keeps its data
        unchanged.

        Args:
            quote_id: quot_…, hourly or tiered, for the instance's image and size of data disk
            offer: offr_… of another host
            gpu_count: Left out: as many as now
            max_hourly_rate: Refused with price_changed above this, data disk included
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/migrate",
                models.InstanceOut,
                body={"quote_id": quote_id, "offer": offer, "gpu_count": gpu_count, "max_hourly_rate": max_hourly_rate},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def moves(
        self, instance_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedMoveOutList, models.MoveOut]:
        """List all clones and migrations from or to an instance, newest first, with their progress.

        Args:
            limit: Rows in a page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/moves",
                models.PaginatedMoveOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.MoveOut,
        )

    async def password_set(
        self, instance_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.PasswordOut:
        """Set a new random password, which replaces an earlier one.

        It is shown this once.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/password",
                models.PasswordOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def password_clear(self, instance_id: str, *, timeout: float | None = None) -> models.AccessOut:
        """Remove the password, so that only keys can log in.

        Repeating it changes nothing.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}/password", models.AccessOut, timeout=timeout)
        )

    async def pull(self, instance_id: str, *, timeout: float | None = None) -> models.PullOut:
        """Return how far the host has pulled the instance's image, layer by layer."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/pull", models.PullOut, timeout=timeout)
        )

    async def reimage(
        self,
        instance_id: str,
        *,
        image: str,
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
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Replace the root file system by a fresh one from an image; the data disk stays.

        A running instance gets it at once, a stopped one at its next start. If it fails, the former root runs again.
        Launch settings, and an image that is not the market's own, also need the scope `instances:connect`, since its
        programs run beside the kept data.

        Args:
            image: Slug or img_…; the present one is lawful too
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
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/reimage",
                models.InstanceOut,
                body={
                    "image": image,
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
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def reimage_take_back(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Cancel a re-image that has not begun, and keep the present root.

        Repeating it changes nothing.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}/reimage", models.InstanceOut, timeout=timeout)
        )

    async def report_fault(
        self,
        instance_id: str,
        *,
        detail: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Report that an instance does not work although its host says that it runs.

        It is stopped and costs nothing from now on; the market's staff decide about a refund.

        Args:
            detail: Staff read it, and the host's owner in the events.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/report-fault",
                models.InstanceOut,
                body={"detail": detail},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def resize_price(
        self,
        instance_id: str,
        *,
        data_disk_gb: int | UnsetType | None = UNSET,
        gpu_count: int | UnsetType | None = UNSET,
        timeout: float | None = None,
    ) -> models.SizeOut:
        """Return what a size would cost, without changing anything.

        A size that is not possible is refused like the resize itself.
        """
        return await self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/resize",
                models.SizeOut,
                query={"data_disk_gb": data_disk_gb, "gpu_count": gpu_count},
                timeout=timeout,
            )
        )

    async def resize(
        self,
        instance_id: str,
        *,
        gpu_count: int | UnsetType | None = UNSET,
        data_disk_gb: int | UnsetType | None = UNSET,
        max_hourly_rate: Decimal | str | UnsetType | None = UNSET,
        max_disk_daily: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Change the number of GPUs of a stopped instance, or grow its data disk.

        Args:
            max_hourly_rate: Refused when all its GPUs would cost more an hour
            max_disk_daily: Refused when its data disk would cost more a day
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/resize",
                models.InstanceOut,
                body={
                    "gpu_count": gpu_count,
                    "data_disk_gb": data_disk_gb,
                    "max_hourly_rate": max_hourly_rate,
                    "max_disk_daily": max_disk_daily,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def restart(
        self,
        instance_id: str,
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
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Restart the container; with changed launch settings, this also needs the scope `instances:connect`.

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
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/restart",
                models.InstanceOut,
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
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def save_image(
        self,
        instance_id: str,
        *,
        name: str,
        description: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.ImageOut:
        """Save the root file system of a running or stopped instance as one of your images."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/save-image",
                models.ImageOut,
                body={"name": name, "description": description},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def start(
        self,
        instance_id: str,
        *,
        mode: models.Mode | UnsetType = UNSET,
        max_hourly_rate: str | UnsetType | None = UNSET,
        volume_ids: Sequence[str] | UnsetType | None = UNSET,
        wait: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Start a stopped instance again.

        With other volumes, launch settings, and an image that is not the market's own, also need the scope
        `instances:connect`, since its programs can read them.

        Args:
            mode: cpu: without its GPUs, half a core and 2 GB at `billing.cpu_hourly_rate`; nothing is leased
            max_hourly_rate: Accept a price that has risen since, up to this much an hour
            volume_ids: vol_…: with these volumes and no others; left out: with those that it has
            wait: When its GPUs are taken: stand in line for them, one hour's money held, up to 7 days
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/start",
                models.InstanceOut,
                body={"mode": mode, "max_hourly_rate": max_hourly_rate, "volume_ids": volume_ids, "wait": wait},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def stop(
        self,
        instance_id: str,
        *,
        hold: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Stop a running instance, whose data is kept, or release the GPUs that a stopped one keeps.

        Args:
            hold: Keep its GPUs at billing.hold_fee an hour; a reserved term keeps them anyway
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/stop",
                models.InstanceOut,
                body={"hold": hold},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def storage(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceStorageOut:
        """Return the disk, volumes and data sets of an instance, and how full they are."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/storage", models.InstanceStorageOut, timeout=timeout)
        )

    async def open_stream(
        self,
        instance_id: str,
        *,
        kind: models.StreamInKind,
        port: int | UnsetType | None = UNSET,
        session: str | UnsetType | None = UNSET,
        path: str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.StreamOut:
        """Issue a ticket for a terminal, a port, the files, a download or an upload.

        The host need not be reachable from outside. It costs nothing and changes nothing; repeating it issues another
        ticket.

        Args:
            port: Of a port: the container's own
            session: Of a terminal: a name that you make up; the same again finds the same shell, for ten minutes
            path: Of a download or upload: absolute, in the container
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/streams",
                models.StreamOut,
                body={"kind": kind, "port": port, "session": session, "path": path},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def syncs_list(
        self, instance_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedSyncOutList, models.SyncOut]:
        """Syncs of the data disk of one of your instances.

        Args:
            limit: Rows in a page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/syncs",
                models.PaginatedSyncOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.SyncOut,
        )

    async def syncs_create(
        self,
        instance_id: str,
        *,
        connection: str,
        direction: models.Direction,
        path: str | UnsetType = UNSET,
        folder: str | UnsetType = UNSET,
        delete_extra: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.SyncOut:
        """Copy the data disk of an instance, or a folder of it, to or from object storage.

        The instance may run or be stopped.

        Args:
            connection: conn_…
            direction: up: to object storage; down: from it
            path: A folder of the disk; left out: all of it
            folder: In the connection's own folder
            delete_extra: Delete at the destination what the source does not have
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/syncs",
                models.SyncOut,
                body={
                    "connection": connection,
                    "direction": direction,
                    "path": path,
                    "folder": folder,
                    "delete_extra": delete_extra,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def usage(self, instance_id: str, *, timeout: float | None = None) -> models.UsageOut:
        """Return what an instance has cost, charge by charge."""
        return await self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/usage", models.UsageOut, timeout=timeout)
        )

    async def web_links(
        self,
        instance_id: str,
        *,
        port: int,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.WebLinkOut:
        """Create a link to JupyterLab, TensorBoard or another program that answers HTTP in an instance.

        Args:
            port: Of the container, published or not: 8888 is JupyterLab, 6006 TensorBoard
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/instances/{self._part(instance_id)}/web-links",
                models.WebLinkOut,
                body={"port": port},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
