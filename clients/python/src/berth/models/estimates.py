# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class CrossingOut(Struct, frozen=True, kw_only=True):
    """The hours of use from which on one mode costs less than another."""

    cheaper: str
    dearer: str
    hours: str


class EstimateLine(Struct, frozen=True, kw_only=True):
    """One line; all of them add up to the total."""

    item: str
    quantity: str
    unit: str
    unit_price: str
    amount: str


class EstimateOut(Struct, frozen=True, kw_only=True):
    """The estimate, and those of all requested `modes`.

    Attributes:
        commitment_total: Of a reserved term: its GPUs, used or not
        break_even: Earliest first; looked for through twice the longest term
    """

    currency: str
    billing_mode: str
    total: str
    commitment_total: str | None
    lines: list[EstimateLine]
    modes: list[ModeEstimate]
    break_even: list[CrossingOut]


class ModeEstimate(Struct, frozen=True, kw_only=True):
    """What the work costs in one mode.

    Attributes:
        commitment_total: Of a reserved term: its GPUs, used or not
    """

    billing_mode: str
    total: str
    commitment_total: str | None
    lines: list[EstimateLine]


class TierStep(Struct, frozen=True, kw_only=True):
    """A tier: another price, or a discount on the first one, after so many hours of continuous use.

    Attributes:
        discount: "0.15" or "15%"
    """

    from_hours: str
    unit_price: str | UnsetType = UNSET
    discount: str | UnsetType = UNSET
