# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `instances`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Instances(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, state: Sequence[str] | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedInstanceOutList, models.InstanceOut]:
        """List your instances.

        Args:
            limit: Rows per page
            state: Filter by state; default: all except released ones
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

    def create(
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
        """Rent an instance from a quote.

        With volumes, launch settings, or an image that isn't official, this also requires the scope
        `instances:connect`, since the instance's programs can read them.

        Args:
            quote_id: quot_…
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
            auto_renew: For reserved terms: renew at the end, at the then-current price
            offer: This field and the following ones must match the quote
            image: Slug or img_…
            max_total: Fails if due_now or projected_total is higher
            signature: The signature of the quote
            ssh_key_ids: key_…; default: all keys of the account, including those added later
            volume_ids: vol_…: volumes on the offer's host, mounted at /mnt/<name>
            data_sets: Public data sets on the host, mounted at /pub/<slug>
            ports: Extra container ports to publish
            udp_ports: Further ports, published for UDP as well as TCP; fails on hosts without UDP support
                (`udp_unsupported`)
        """
        return self._send(
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

    def get(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Return one of your instances."""
        return self._send(Call("GET", f"/api/v1/instances/{self._part(instance_id)}", models.InstanceOut, timeout=timeout))

    def update(
        self,
        instance_id: str,
        *,
        locked: bool | UnsetType = UNSET,
        schedule: models.SchedulePatch | UnsetType = UNSET,
        idle_stop: models.IdleStop | UnsetType | None = UNSET,
        name: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Return one of your instances.

        Args:
            locked: Blocks release, scheduled release and image changes
            idle_stop: null: no idle stop
        """
        return self._send(
            Call(
                "PATCH",
                f"/api/v1/instances/{self._part(instance_id)}",
                models.InstanceOut,
                body={"locked": locked, "schedule": schedule, "idle_stop": idle_stop, "name": name},
                timeout=timeout,
            )
        )

    def release(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Release an instance: its container and its data are deleted.

        Idempotent.
        """
        return self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}", models.InstanceOut, timeout=timeout)
        )

    def access(self, instance_id: str, *, timeout: float | None = None) -> models.AccessOut:
        """Return the addresses of an instance and its access settings."""
        return self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/access", models.AccessOut, timeout=timeout)
        )

    def access_change(
        self,
        instance_id: str,
        *,
        ssh_key_ids: Sequence[str] | UnsetType | None = UNSET,
        allow_from: Sequence[str] | UnsetType = UNSET,
        ports: Sequence[int] | UnsetType = UNSET,
        udp_ports: Sequence[int] | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.AccessOut:
        """Change keys, the IP allowlist and exposed ports.

        Also requires the scope `instances:connect`.

        Args:
            ssh_key_ids: key_…; null: all keys of the account, including those added later
            allow_from: IP allowlist of SSH, in CIDR notation; empty: any address
            ports: All exposed container ports; changes take effect at the next start or restart
            udp_ports: Ports published for UDP as well as TCP; default: those in `ports` that already had UDP
        """
        return self._send(
            Call(
                "PATCH",
                f"/api/v1/instances/{self._part(instance_id)}/access",
                models.AccessOut,
                body={"ssh_key_ids": ssh_key_ids, "allow_from": allow_from, "ports": ports, "udp_ports": udp_ports},
                timeout=timeout,
            )
        )

    def alert_rules(self, instance_id: str, *, timeout: float | None = None) -> models.AlertRules:
        """Return the kinds of alerts that are muted for an instance."""
        return self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/alert-rules", models.AlertRules, timeout=timeout)
        )

    def alert_rules_set(
        self, instance_id: str, *, muted: Sequence[models.AlertKind], timeout: float | None = None
    ) -> models.AlertRules:
        """Set the kinds of alerts that are muted for an instance; open ones of them are closed."""
        return self._send(
            Call(
                "PUT",
                f"/api/v1/instances/{self._part(instance_id)}/alert-rules",
                models.AlertRules,
                body={"muted": muted},
                timeout=timeout,
            )
        )

    def archive(self, instance_id: str, *, timeout: float | None = None) -> models.ArchiveOut:
        """Return the archive setting of an instance's data disk, used before its deletion after a long stop."""
        return self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/archive", models.ArchiveOut, timeout=timeout)
        )

    def archive_set(
        self,
        instance_id: str,
        *,
        archive: models.Archive,
        connection: str | UnsetType | None = UNSET,
        timeout: float | None = None,
    ) -> models.ArchiveOut:
        """Return the archive setting of an instance's data disk, used before its deletion after a long stop.

        Args:
            archive: account: use the account's default
            connection: conn_…; required with on
        """
        return self._send(
            Call(
                "PUT",
                f"/api/v1/instances/{self._part(instance_id)}/archive",
                models.ArchiveOut,
                body={"archive": archive, "connection": connection},
                timeout=timeout,
            )
        )

    def bid(
        self,
        instance_id: str,
        *,
        max_price: Decimal | str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Change the max price of a spot instance while it runs.

        An interruption notice is withdrawn if the new max price wins in time.

        Args:
            max_price: Per GPU-hour, at least the offer's floor price
        """
        return self._send(
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

    def bid_withdraw(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Withdraw the bid of an interrupted instance, so that it does not resume automatically.

        Idempotent.
        """
        return self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}/bid", models.InstanceOut, timeout=timeout)
        )

    def cancel_move(
        self, instance_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.InstanceOut:
        """Cancel a clone or migration while it is copying.

        The source is unchanged, and an unfinished clone is released.
        """
        return self._send(
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

    def clone(
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
        """Clone a stopped instance into a new one, with or without a copy of its data disk.

        The clone is rented like any other instance: on demand at the offer's current price, unless a quote says
        otherwise. It is `copying` until the copy is complete, and charged once it runs; the source can be
        started again after copying. Changing launch settings also requires the scope `instances:connect`.

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
            quote_id: quot_…, hourly or tiered, for the instance's image and data disk size
            offer: offr_…; default: the current one, on the same host
            gpu_count: Default: the current number
            max_hourly_rate: Fails with price_changed above this price, data disk included
            data_disk: false: don't copy it; a quote can include a new, empty one
        """
        return self._send(
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

    def convert(
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
        """Change the billing mode of an instance without interrupting it, using a quote for this instance.

        Args:
            quote_id: quot_…, made for this instance
            max_total: Fails if due_now or projected_total is higher
            signature: The signature of the quote
            auto_renew: For reserved terms: renew at the end, at the then-current price
        """
        return self._send(
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
    ) -> Pager[models.PaginatedEventOutList, models.EventOut]:
        """List what happened to an instance, newest first.

        Args:
            limit: Rows per page
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

    def exec(
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

        Returns immediately; read the result at `/exec/{command_id}`. The command runs at most once, and with an
        `Idempotency-Key` once for all retries of the request. After `timeout_seconds`, it is killed together
        with all its child processes.

        Args:
            command: A list of arguments, run without a shell, or a line for /bin/sh -c
            stdin: Standard input, at most 64 KiB
            stdin_encoding: Use base64 for binary input
            env: Environment variables in addition to those of the instance
            user: User: name, uid or uid:gid; default: root
            workdir: Working directory, an absolute path; default: the image's
            timeout_seconds: The command and its child processes are killed after this time
        """
        return self._send(
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

    def exec_result(self, instance_id: str, command_id: str, *, timeout: float | None = None) -> models.CommandOut:
        """Return a command with its result, until an hour after its end."""
        return self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/exec/{self._part(command_id)}",
                models.CommandOut,
                timeout=timeout,
            )
        )

    def exec_cancel(self, instance_id: str, command_id: str, *, timeout: float | None = None) -> models.CommandOut:
        """Kill a command that is still running, and erase its output.

        Idempotent.
        """
        return self._send(
            Call(
                "DELETE",
                f"/api/v1/instances/{self._part(instance_id)}/exec/{self._part(command_id)}",
                models.CommandOut,
                timeout=timeout,
            )
        )

    def extend(
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
        """Renew the reserved term in advance using a quote, or turn auto-renew on or off.

        Args:
            max_total: Fails if due_now or projected_total is higher
            signature: The signature of the quote
            quote_id: quot_…: the renewal, which starts when the current term ends
        """
        return self._send(
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

    def keep(
        self,
        instance_id: str,
        *,
        days: int,
        max_fee: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Extend the data retention of a stopped instance by a number of days, for a fee that is held immediately.

        Args:
            max_fee: Fails if it costs more
        """
        return self._send(
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

    def launch_update(
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
        """Change the launch settings of a stopped instance, or of a running one, which restarts with the changes.

        Also requires the scope `instances:connect`, since what runs there can read the stored data and the
        secrets.

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
        """
        return self._send(
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

    def logs(
        self,
        instance_id: str,
        *,
        q: str | UnsetType = UNSET,
        since: datetime | str | UnsetType | None = UNSET,
        source: str | UnsetType = UNSET,
        tail: int | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.LogsOut:
        """Return log lines of an instance.

        Repeat the request while `reading` is true.

        Args:
            q: Only lines that contain this text, ignoring case
            source: on_start: the log of the start script instead of the container
            tail: Return the last matching lines, up to this many
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/logs",
                models.LogsOut,
                query={"q": q, "since": since, "source": source, "tail": tail},
                timeout=timeout,
            )
        )

    def metrics(
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
            step: Seconds between two points; default: at least 20, for about 240 points. 1 is available for two hours
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/metrics",
                models.MetricsOut,
                query={"minutes": minutes, "step": step},
                timeout=timeout,
            )
        )

    def migrate(
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
        """Migrate a stopped instance to another host, with its id, name, history, system disk and data disk.

        It starts on the new host once everything is copied; until it has run there, the old host keeps its data
        unchanged.

        Args:
            quote_id: quot_…, hourly or tiered, for the instance's image and data disk size
            offer: offr_… of another host
            gpu_count: Default: the current number
            max_hourly_rate: Fails with price_changed above this price, data disk included
        """
        return self._send(
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
    ) -> Pager[models.PaginatedMoveOutList, models.MoveOut]:
        """List all clones and migrations from or to an instance, newest first, with their progress.

        Args:
            limit: Rows per page
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

    def password_set(
        self, instance_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.PasswordOut:
        """Set a new random password, replacing the previous one.

        It is shown only once.
        """
        return self._send(
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

    def password_clear(self, instance_id: str, *, timeout: float | None = None) -> models.AccessOut:
        """Remove the password, so that only keys can log in.

        Idempotent.
        """
        return self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}/password", models.AccessOut, timeout=timeout)
        )

    def pull(self, instance_id: str, *, timeout: float | None = None) -> models.PullOut:
        """Return the progress of pulling the instance's image, by layer."""
        return self._send(Call("GET", f"/api/v1/instances/{self._part(instance_id)}/pull", models.PullOut, timeout=timeout))

    def reimage(
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
        """Rebuild the system disk from an image; the data disk is kept.

        Takes effect immediately on a running instance, and at the next start of a stopped one. If it fails, the
        previous system disk is restored. Launch settings, and an image that isn't official, also require the
        scope `instances:connect`, since their programs can read the stored data.

        Args:
            image: Slug or img_…; can be the current one
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
        """
        return self._send(
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

    def reimage_take_back(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceOut:
        """Cancel an image change that has not started, and keep the current system disk.

        Idempotent.
        """
        return self._send(
            Call("DELETE", f"/api/v1/instances/{self._part(instance_id)}/reimage", models.InstanceOut, timeout=timeout)
        )

    def report_fault(
        self,
        instance_id: str,
        *,
        detail: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Report that an instance does not work although its host reports it as running.

        It is stopped, its GPU use is no longer charged, and Berth staff decide about a refund.

        Args:
            detail: Visible to Berth staff, and to the host owner in the events.
        """
        return self._send(
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

    def resize_price(
        self,
        instance_id: str,
        *,
        data_disk_gb: int | UnsetType | None = UNSET,
        gpu_count: int | UnsetType | None = UNSET,
        timeout: float | None = None,
    ) -> models.SizeOut:
        """Return what a new size would cost, without changing anything.

        Fails like the resize itself if the size is not possible.
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/instances/{self._part(instance_id)}/resize",
                models.SizeOut,
                query={"data_disk_gb": data_disk_gb, "gpu_count": gpu_count},
                timeout=timeout,
            )
        )

    def resize(
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
        """Change the number of GPUs of a stopped instance, or expand its data disk.

        Args:
            max_hourly_rate: Fails if all its GPUs would cost more per hour
            max_disk_daily: Fails if its data disk would cost more per day
        """
        return self._send(
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

    def restart(
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
        """Restart the container; changing launch settings also requires the scope `instances:connect`.

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
        """
        return self._send(
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

    def save_image(
        self,
        instance_id: str,
        *,
        name: str,
        description: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.ImageOut:
        """Save the system disk of a running or stopped instance as one of your images."""
        return self._send(
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

    def start(
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

        With other volumes or launch settings, or an image that isn't official, this also requires the scope
        `instances:connect`, since the instance's programs can read them.

        Args:
            mode: cpu: without GPUs, with half a core and 2 GB at `billing.cpu_hourly_rate`
            max_hourly_rate: Accept a higher price, up to this much per hour
            volume_ids: vol_…: start with exactly these volumes; default: those already attached
            wait: If its GPUs are taken, join the queue for up to 7 days; one hour is held
        """
        return self._send(
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

    def stop(
        self,
        instance_id: str,
        *,
        hold: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InstanceOut:
        """Stop a running instance and keep its data, or release the GPUs that a stopped one keeps.

        Args:
            hold: Keep its GPUs at billing.hold_fee per hour; a reserved term keeps them anyway
        """
        return self._send(
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

    def storage(self, instance_id: str, *, timeout: float | None = None) -> models.InstanceStorageOut:
        """Return the disk, volumes and data sets of an instance, with their usage."""
        return self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/storage", models.InstanceStorageOut, timeout=timeout)
        )

    def open_stream(
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

        The host doesn't have to be reachable from outside. Free of charge; each request issues a new ticket.

        Args:
            port: For a port: the container port
            session: For a terminal: a name of your choice; using it again reattaches to the same shell, for ten minutes
            path: For a download or upload: an absolute path in the container
        """
        return self._send(
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
    ) -> Pager[models.PaginatedSyncOutList, models.SyncOut]:
        """List syncs of the data disk of one of your instances.

        Args:
            limit: Rows per page
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

    def syncs_create(
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
            path: A folder on the disk; default: the whole disk
            folder: Relative to the connection's folder
            delete_extra: Delete files at the destination that the source doesn't have
        """
        return self._send(
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

    def usage(self, instance_id: str, *, timeout: float | None = None) -> models.UsageOut:
        """Return the charges of an instance."""
        return self._send(
            Call("GET", f"/api/v1/instances/{self._part(instance_id)}/usage", models.UsageOut, timeout=timeout)
        )

    def web_links(
        self,
        instance_id: str,
        *,
        port: int,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.WebLinkOut:
        """Create a link to JupyterLab, TensorBoard or another HTTP service in an instance.

        Args:
            port: Container port, published or not: 8888 for JupyterLab, 6006 for TensorBoard
        """
        return self._send(
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
