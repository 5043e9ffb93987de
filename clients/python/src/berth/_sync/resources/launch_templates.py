# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `launch_templates`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class LaunchTemplates(Resource):
    def list(
        self,
        *,
        category: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        q: str | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> Pager[models.PaginatedTemplateOutList, models.TemplateOut]:
        """List launch templates that you can rent with.

        Args:
            limit: Rows per page
            q: Search in title and description
            source: Default: all
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/launch-templates",
                models.PaginatedTemplateOutList,
                query={"category": category, "limit": limit, "q": q, "source": source},
                timeout=timeout,
            ),
            models.TemplateOut,
        )

    def create(
        self,
        *,
        image: str,
        title: str,
        launch: models.LaunchFields | UnsetType = UNSET,
        inputs: Sequence[Any] | UnsetType = UNSET,
        ports: Sequence[Any] | UnsetType = UNSET,
        filter: str | UnsetType | None = UNSET,
        min_vram_gb: int | UnsetType | None = UNSET,
        min_cuda: str | UnsetType | None = UNSET,
        min_driver: str | UnsetType | None = UNSET,
        data_disk_gb: int | UnsetType | None = UNSET,
        readme: str | UnsetType | None = UNSET,
        slug: str | UnsetType = UNSET,
        icon: str | UnsetType = UNSET,
        description: str | UnsetType = UNSET,
        category: models.TemplateCategory | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.TemplateOut:
        """Create a private template with its first version.

        Args:
            image: Slug or img_…: official, community, or your own
            launch: `secrets`: a list of names; a template never stores their values
            inputs: At most 30
            filter: Search query that selects suitable offers
            min_cuda: Such as 12.4
            min_driver: Such as 550.54
            readme: Markdown, at most 64 KiB
            slug: Default: derived from the title
            icon: One of the predefined icons
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/launch-templates",
                models.TemplateOut,
                body={
                    "image": image,
                    "title": title,
                    "launch": launch,
                    "inputs": inputs,
                    "ports": ports,
                    "filter": filter,
                    "min_vram_gb": min_vram_gb,
                    "min_cuda": min_cuda,
                    "min_driver": min_driver,
                    "data_disk_gb": data_disk_gb,
                    "readme": readme,
                    "slug": slug,
                    "icon": icon,
                    "description": description,
                    "category": category,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, template_id: str, *, timeout: float | None = None) -> models.TemplateOut:
        """Return one launch template."""
        return self._send(
            Call("GET", f"/api/v1/launch-templates/{self._part(template_id)}", models.TemplateOut, timeout=timeout)
        )

    def update(
        self,
        template_id: str,
        *,
        title: str | UnsetType = UNSET,
        icon: str | UnsetType = UNSET,
        description: str | UnsetType = UNSET,
        category: models.TemplateCategory | UnsetType = UNSET,
        visibility: models.Visibility | UnsetType = UNSET,
        team: str | UnsetType | None = UNSET,
        share_link: bool | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.TemplateOut:
        """Change a template's title, description, visibility or share link.

        Args:
            visibility: public: shown to everyone once staff has approved it
            team: team_…; required with the visibility team
            share_link: true: a new link; false: none
        """
        return self._send(
            Call(
                "PATCH",
                f"/api/v1/launch-templates/{self._part(template_id)}",
                models.TemplateOut,
                body={
                    "title": title,
                    "icon": icon,
                    "description": description,
                    "category": category,
                    "visibility": visibility,
                    "team": team,
                    "share_link": share_link,
                },
                timeout=timeout,
            )
        )

    def delete(self, template_id: str, *, timeout: float | None = None) -> None:
        """Delete one of your templates; instances rented with it keep their settings."""
        return self._send(Call("DELETE", f"/api/v1/launch-templates/{self._part(template_id)}", type(None), timeout=timeout))

    def render(
        self,
        template_id: str,
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
        version: str | UnsetType = UNSET,
        inputs: Mapping[str, Any] | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.RenderOut:
        """Return the settings of the template with your inputs and settings merged over them; nothing is stored.

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
            version: Default: the current version
        """
        return self._send(
            Call(
                "POST",
                f"/api/v1/launch-templates/{self._part(template_id)}/render",
                models.RenderOut,
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
                    "version": version,
                    "inputs": inputs,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def versions(
        self, template_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedVersionOutList, models.VersionOut]:
        """List versions of a launch template, newest first.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/launch-templates/{self._part(template_id)}/versions",
                models.PaginatedVersionOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.VersionOut,
        )

    def version_create(
        self,
        template_id: str,
        *,
        image: str,
        launch: models.LaunchFields | UnsetType = UNSET,
        inputs: Sequence[Any] | UnsetType = UNSET,
        ports: Sequence[Any] | UnsetType = UNSET,
        filter: str | UnsetType | None = UNSET,
        min_vram_gb: int | UnsetType | None = UNSET,
        min_cuda: str | UnsetType | None = UNSET,
        min_driver: str | UnsetType | None = UNSET,
        data_disk_gb: int | UnsetType | None = UNSET,
        readme: str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.VersionOut:
        """Add a version; identical content returns the existing version.

        Args:
            image: Slug or img_…: official, community, or your own
            launch: `secrets`: a list of names; a template never stores their values
            inputs: At most 30
            filter: Search query that selects suitable offers
            min_cuda: Such as 12.4
            min_driver: Such as 550.54
            readme: Markdown, at most 64 KiB
        """
        return self._send(
            Call(
                "POST",
                f"/api/v1/launch-templates/{self._part(template_id)}/versions",
                models.VersionOut,
                body={
                    "image": image,
                    "launch": launch,
                    "inputs": inputs,
                    "ports": ports,
                    "filter": filter,
                    "min_vram_gb": min_vram_gb,
                    "min_cuda": min_cuda,
                    "min_driver": min_driver,
                    "data_disk_gb": data_disk_gb,
                    "readme": readme,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def import_(
        self, *, line: str, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.ImportOut:
        """Read a docker run command or the name of an image; nothing is stored.

        An option that can't become part of a template is refused by name.

        Args:
            line: A docker run command, or the name of an image
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/launch-templates/import",
                models.ImportOut,
                body={"line": line},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
