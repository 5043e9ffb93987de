# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

AlertKind = (
    Literal[
        "gpu_idle",
        "disk_full",
        "inodes_full",
        "memory_high",
        "out_of_memory",
        "gpu_fault",
        "path_broken",
        "data_lost",
        "paused",
        "throttled",
    ]
    | str
)

BillingMode = Literal["hourly", "reserved", "tiered", "spot"] | str

Cause = Literal["asked", "schedule", "archive"] | str


class CommunityOut(Struct, frozen=True, kw_only=True):
    """Name and version under which an image is shared.

    Attributes:
        owner: The owner's display name
    """

    name: str
    title: str
    description: str
    version: int
    owner: str
    shared_at: datetime | None


class DataDiskOut(Struct, frozen=True, kw_only=True):
    """The data disk."""

    size_gb: int
    path: str
    usage: DiskUsage | None
    progress: StorageProgress | None


Days = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"] | str

Direction = Literal["up", "down"] | str

DiskKind = Literal["volume", "disk"] | str


class DiskUsage(Struct, frozen=True, kw_only=True):
    """Usage at the host's last report.

    Attributes:
        nearly_full: At least 90% of the space or inodes are used
    """

    used_mb: int
    total_mb: int
    used_percent: int
    inodes_used: int
    inodes_total: int
    inodes_percent: int
    nearly_full: bool
    at: datetime


class ImageOut(Struct, frozen=True, kw_only=True):
    """An image that an instance can run.

    Attributes:
        id: Use this or the slug in quotes
        reference: Reference that the host pulls: by digest, unless it is an official image
        name: For images added by name: the name and tag
        cuda: Required CUDA version; empty: none
        has_ssh: It starts its own SSH server; otherwise the host's agent provides SSH
        size_bytes: Compressed size; for a saved image on its host, the full size
        private: Pulled with a saved registry login
        host: Stored on this host; can only be used there
        use_count: Number of instances rented with it
        checked_at: When its name was last looked up in the registry
    """

    id: str
    slug: str
    title: str
    description: str
    reference: str
    name: str | None
    cuda: str
    has_ssh: bool
    has_jupyter: bool
    has_tensorboard: bool
    official: bool
    own: bool
    source: str
    state: str
    digest: str | None
    size_bytes: int | None
    architectures: list[str]
    private: bool
    host: str | None
    community: CommunityOut | None
    use_count: int
    failure: str | None
    created_at: datetime
    checked_at: datetime | None


ImageOutState = Literal["saving", "ready", "failed", "dropping", "gone"] | str


class InstanceStorageOut(Struct, frozen=True, kw_only=True):
    """Data disk, volumes and data sets of an instance."""

    data_disk: DataDiskOut
    volumes: list[MountedVolume]
    data_sets: list[MountedDataSet]


class LaunchOut(Struct, frozen=True, kw_only=True):
    """What runs in the instance; an empty value uses the image's default.

    Attributes:
        secrets: Names only
    """

    env: dict[str, Any]
    secrets: list[str]
    command: list[str]
    args: list[str]
    entrypoint: list[str]
    workdir: str
    user: str
    shm_mb: int | None
    on_start: str
    readiness: ReadinessOut | None


class MessageOut(Struct, frozen=True, kw_only=True):
    """The accompanying text as structured data, for programs and your own translations. null: only the text is available.

    Attributes:
        code: Identifies the text; new codes can be added at any time
        params: By name: text, whole numbers, times (UTC), amounts in micro-units, codes, and messages inside this
            one
    """

    code: str
    params: dict[str, Any]


Method = Literal["stripe", "bank"] | str


class MountedDataSet(Struct, frozen=True, kw_only=True):
    """A data set that the instance mounts."""

    slug: str
    path: str


class MountedVolume(Struct, frozen=True, kw_only=True):
    """A volume that is attached to the instance."""

    id: str
    name: str
    path: str


class PaginatedSyncOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[SyncOut]


Payment = Literal["upfront", "none"] | str


class ReadinessOut(Struct, frozen=True, kw_only=True):
    """Check of the program."""

    type: str
    port: int
    path: str
    grace_seconds: int


ReadinessType = Literal["http", "tcp"] | str

Scopes = (
    Literal[
        "instances:read",
        "instances:write",
        "instances:connect",
        "storage:read",
        "storage:write",
        "billing:read",
        "billing:write",
        "keys:read",
        "keys:write",
        "hosts:read",
        "hosts:write",
        "account:read",
        "account:write",
        "webhooks:read",
        "webhooks:write",
        "tokens:write",
    ]
    | str
)


class SealOut(Struct, frozen=True, kw_only=True):
    """A link of the ledger's hash chain.

    Attributes:
        postings_after: Covers the postings numbered above this one
        postings_upto: Covers the postings up to this one
        body: SHA-256 over the digests of its rows
        previous: The previous head
    """

    number: int
    postings_after: int
    postings_upto: int
    body: str
    previous: str
    head: str
    sealed_at: datetime


class SignedOut(Struct, frozen=True, kw_only=True):
    """A record and Berth's Ed25519 signature of it.

    Attributes:
        signature: Hex, over the record as JSON with sorted keys, without whitespace, in UTF-8
    """

    record: UsageRecord
    signature: str


Source = Literal["official", "named", "saved"] | str


class StorageFailure(Struct, frozen=True, kw_only=True):
    """Why the last operation on it failed."""

    code: str
    detail: str
    message: MessageOut | None


class StoragePlace(Struct, frozen=True, kw_only=True):
    """The host on which it is stored."""

    id: str
    name: str
    region: str
    simulated: bool


class StorageProgress(Struct, frozen=True, kw_only=True):
    """Progress of the current operation.

    Attributes:
        total_bytes: 0: not known
    """

    kind: str
    done_bytes: int
    total_bytes: int
    percent: int | None
    detail: str
    message: MessageOut | None


class SyncOut(Struct, frozen=True, kw_only=True):
    """One sync.

    Attributes:
        connection: null: deleted since
        simulated: Simulated host: nothing was copied
        same_files: Unchanged files
    """

    id: str
    of: SyncSubject
    connection: str | None
    connection_name: str
    direction: str
    path: str
    folder: str
    delete_extra: bool
    cause: str
    state: str
    simulated: bool
    progress: SyncProgress | None
    copied_bytes: int
    copied_files: int
    same_files: int
    deleted_files: int
    failure: StorageFailure | None
    created_at: datetime
    ended_at: datetime | None


SyncOutState = Literal["running", "done", "failed", "cancelled"] | str


class SyncProgress(Struct, frozen=True, kw_only=True):
    """Progress of the copying.

    Attributes:
        total_bytes: 0: not known yet
        total_files: 0: not known yet
    """

    done_bytes: int
    total_bytes: int
    done_files: int
    total_files: int
    percent: int | None
    detail: str
    message: MessageOut | None


class SyncSubject(Struct, frozen=True, kw_only=True):
    """The disk.

    Attributes:
        id: vol_… or inst_…
    """

    kind: str
    id: str
    name: str


class TemplateRef(Struct, frozen=True, kw_only=True):
    """The version of a launch template in use.

    Attributes:
        version: The first digits of the SHA-256 of its content
    """

    id: str
    slug: str
    title: str
    version: str


Term = Literal["day", "week", "month", "year", "year3"] | str


class UsageRecord(Struct, frozen=True, kw_only=True):
    """A charged period, byte for byte the same for payer and payee.

    Amounts are whole millionths of the currency.

    Attributes:
        version: 1
        usage: The usage row's number
        posting: Number of the posting that booked it
        source: The source: `instance:…`, `disk:…`, `hold:…`, `term:…`
        period_from: UTC to the microsecond
        rate_micros: Per `rate_hours` hours
        fee_micros: The platform's share of the charge
        share_micros: The host's share
        payer: A wallet: the renter's, or Berth's escrow for prepaid terms
        payee: The host owner's wallet
    """

    version: int
    usage: int
    posting: int
    meter: str
    source: str
    what: str
    mode: str
    gpu_model: str
    period_from: str
    period_to: str
    rate_micros: int
    rate_hours: int
    charge_micros: int
    fee_micros: int
    share_micros: int
    currency: str
    payer: str
    payee: str
    booked_at: str
