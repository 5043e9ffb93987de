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
    """An all-in price, good for one order until `expires_at`.

    Attributes:
        system_disk_gb: Hard limit of the root beside the image; null: its host has none
        max_price: Per GPU and hour
        lines: They add up to the projection
        due_now: Held at the order, charged by the second of proven running; of a term paid upfront all of it
        hourly_rate: Of all GPUs, disk included, to begin with; of a change in place of the GPUs alone
        projected_total: For `hours`; a term paid upfront counts whole
        commitment_total: Of a reserved quote: its GPUs through the term, used or not
        deposit: Of due_now: held until a term that is paid by the hour ends; against an early end
        pays_host: What of it the host's owner is paid: `nothing` of their own rentals, of their teammates' only
            `cash`
        launch: What the order runs beside the image
        launch_template: What the launch settings come from
        instance: Of a change in place: what it changes
        signature: Proof of these terms; send it with the order to have it checked
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
