# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class CrossingOut(Struct, frozen=True, kw_only=True):
    """The hours of use beyond which one mode costs less than another."""

    cheaper: str
    dearer: str
    hours: str


class EstimateLine(Struct, frozen=True, kw_only=True):
    """One item; the items add up to the total."""

    item: str
    quantity: str
    unit: str
    unit_price: str
    amount: str


class EstimateOut(Struct, frozen=True, kw_only=True):
    """The estimate, and those of all requested `modes`.

    Attributes:
        commitment_total: Full cost of a reserved term's GPUs, used or not
        break_even: Earliest first; computed up to twice the longest term
    """

    currency: str
    billing_mode: str
    total: str
    commitment_total: str | None
    lines: list[EstimateLine]
    modes: list[ModeEstimate]
    break_even: list[CrossingOut]


class ModeEstimate(Struct, frozen=True, kw_only=True):
    """Cost of the workload in one mode.

    Attributes:
        commitment_total: Full cost of a reserved term's GPUs, used or not
    """

    billing_mode: str
    total: str
    commitment_total: str | None
    lines: list[EstimateLine]


class TierStep(Struct, frozen=True, kw_only=True):
    """A tier: a new price, or a discount on the first one, after a number of hours of continuous use.

    Attributes:
        discount: "0.15" or "15%"
    """

    from_hours: str
    unit_price: str | UnsetType = UNSET
    discount: str | UnsetType = UNSET
