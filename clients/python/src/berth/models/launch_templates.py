# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from berth.models.shared import LaunchOut


class ImportOut(Struct, frozen=True, kw_only=True):
    """What would become of the line; nothing is stored.

    Attributes:
        image: The name in its registry; add it as an image before you save the template
    """

    title: str
    image: str
    digest: str
    launch: LaunchOut
    inputs: list[InputOut]
    ports: list[PortOut]
    notes: list[NoteOut]


class InputOut(Struct, frozen=True, kw_only=True):
    """A value that renters enter."""

    name: str
    label: str
    kind: str
    default: str
    required: bool
    choices: list[str]


InputOutKind = Literal["text", "number", "choice", "secret"] | str


class LaunchFields(Struct, frozen=True, kw_only=True):
    """What runs in the instance.

    Attributes:
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

    env: dict[str, Any] | UnsetType | None = UNSET
    secrets: dict[str, Any] | UnsetType | None = UNSET
    command: list[str] | str | UnsetType | None = UNSET
    args: list[str] | str | UnsetType | None = UNSET
    entrypoint: list[str] | str | UnsetType | None = UNSET
    workdir: str | UnsetType | None = UNSET
    user: str | int | UnsetType | None = UNSET
    shm_mb: int | UnsetType | None = UNSET
    on_start: str | UnsetType | None = UNSET
    readiness: dict[str, Any] | UnsetType | None = UNSET


class NoteOut(Struct, frozen=True, kw_only=True):
    """An ignored option, and why."""

    option: str
    detail: str


class PaginatedTemplateOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[TemplateOut]


class PaginatedVersionOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[VersionOut]


class PortOut(Struct, frozen=True, kw_only=True):
    """A port published in addition to the image's own."""

    port: int
    name: str
    protocol: str


Protocol = Literal["http", "tcp", "udp"] | str


class RenderOut(Struct, frozen=True, kw_only=True):
    """What an order would run."""

    template: str
    version: str
    image: str
    launch: LaunchOut
    ports: list[int]
    data_disk_gb: int | None


Review = Literal["none", "submitted", "approved", "rejected"] | str

TemplateCategory = Literal["development", "training", "inference", "images", "data", "other"] | str


class TemplateOut(Struct, frozen=True, kw_only=True):
    """A launch template.

    Attributes:
        owner: The owner's display name
        share_token: Token of the share link; only visible to the owner
        use_count: Number of instances rented with it
    """

    id: str
    slug: str
    title: str
    icon: str
    description: str
    category: str
    official: bool
    own: bool
    owner: str | None
    visibility: str
    team: str | None
    share_token: str | None
    use_count: int
    version: VersionOut
    created_at: datetime
    updated_at: datetime


class VersionOut(Struct, frozen=True, kw_only=True):
    """What a version runs; it never changes.

    Attributes:
        version: The first digits of the hash; orders name it after an @
        content_hash: SHA-256 of the content as canonical JSON
        image: Slug
        review: Only visible to the owner
    """

    version: str
    number: int
    content_hash: str
    image: str
    launch: LaunchOut
    inputs: list[InputOut]
    ports: list[PortOut]
    filter: str
    min_vram_gb: int | None
    min_cuda: str
    min_driver: str
    data_disk_gb: int | None
    readme: str
    review: str | None
    review_reason: str | None
    created_at: datetime


Visibility = Literal["private", "team", "public"] | str
