# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

InvoiceKind = Literal["invoice", "credit_note"] | str


class InvoiceOut(Struct, frozen=True, kw_only=True):
    """An invoice or credit note as it was issued.

    Attributes:
        corrects: The number of the corrected invoice
        total: Tax included
        tax: Within the total
        reason: For a correction
    """

    id: str
    number: str
    kind: str
    corrects: str | None
    period_from: datetime
    period_to: datetime
    issued_at: datetime
    currency: str
    total: str
    tax: str
    tax_percent: float
    paid_by_coupons: str
    reason: str
    seller: PartyOut
    buyer: PartyOut
    lines: list[PaperLineOut]


class InvoiceSummary(Struct, frozen=True, kw_only=True):
    """An invoice or credit note without its lines.

    Attributes:
        corrects: The number of the corrected invoice
        total: Tax included
        tax: Within the total
    """

    id: str
    number: str
    kind: str
    corrects: str | None
    period_from: datetime
    period_to: datetime
    issued_at: datetime
    currency: str
    total: str
    tax: str
    tax_percent: float
    paid_by_coupons: str


class PaginatedInvoiceSummaryList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[InvoiceSummary]


class PaperLineOut(Struct, frozen=True, kw_only=True):
    """One line of an invoice: seconds × rate ÷ (rate_hours × 3600) is the amount.

    Attributes:
        rate_hours: Number of hours that the rate covers
    """

    kind: str
    what: str
    source_kind: str
    source_id: str
    mode: str
    period_from: datetime
    period_to: datetime
    seconds: float
    rate: str | None
    rate_hours: int
    amount: str


class PartyOut(Struct, frozen=True, kw_only=True):
    """Seller or buyer, as of the date of issue."""

    name: str
    address: str
    country: str | UnsetType = UNSET
    tax_id: str
    email: str | UnsetType = UNSET
