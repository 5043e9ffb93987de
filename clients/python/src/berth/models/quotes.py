# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from berth.models.shared import LaunchOut, TemplateRef

PaysHost = Literal["all", "cash", "nothing"] | str


class QuoteLine(Struct, frozen=True, kw_only=True):
    """One line of the projection."""

    item: str
    quantity: str
    unit: str
    unit_price: str
    amount: str


class QuoteOut(Struct, frozen=True, kw_only=True):
    """An all-in price, valid for one order until `expires_at`.

    Attributes:
        system_disk_gb: Hard limit of the system disk, image not included; null: no limit on this host
        max_price: Per GPU and hour
        lines: They add up to the projection
        due_now: Held at the order, then charged per second of confirmed running time; the full amount for a term
            paid upfront
        hourly_rate: Initial rate for all GPUs, disk included; for a change in place, for the GPUs only
        projected_total: For `hours`; a term paid upfront counts in full
        commitment_total: For a reserved quote: cost of the GPUs for the whole term, used or not
        deposit: Part of due_now held until a term paid hourly ends, to cover an early termination
        pays_host: What the host owner is paid of it: `nothing` for their own rentals, only `cash` for those of team
            members
        launch: Launch settings of the order
        launch_template: The template of the launch settings
        instance: The instance, for a change in place
        signature: Signature of these terms; send it with the order to have it verified
    """

    id: str
    offer: str
    gpu_count: int
    billing_mode: str
    image: str
    data_disk_gb: int
    system_disk_gb: int | None
    hours: int
    term: str | None
    payment: str | None
    max_price: str | None
    lines: list[QuoteLine]
    due_now: str
    hourly_rate: str
    projected_total: str
    commitment_total: str | None
    deposit: str
    pays_host: str
    launch: LaunchOut | None
    launch_template: TemplateRef | None
    instance: str | None
    signature: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
