"""Prices of all offers for one search: the rules of `marketplace.pricing.prices` for columns."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from common.money import MICROS_PER_UNIT
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.pricing.offer_requirements import end_of_term
from marketplace.search.index.binary_layout import UNKNOWN
from marketplace.search.index.column_store import ColumnStore
from marketplace.search.index.sort_orders import Columns, Keys
from marketplace.search.language.fields import OfferQuery

ALL: Final = slice(None)
_BPS: Final = 10_000
_HOURS_PER_DAY: Final = 24
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


class PriceColumns:
    """Prices in the requested mode; UNKNOWN where an offer does not sell it."""

    def __init__(self, store: ColumnStore, query: OfferQuery, now: datetime) -> None:
        self.store, self.count = store, query.gpu_count
        self.now_us = _us(now)
        self._term_ends_us = _us(end_of_term(now, query.term))
        self.paid_gb = max(0, query.data_disk_gb - FREE_DATA_DISK_GB)
        self.mode = f"off_{query.term}" if query.billing_mode == "reserved" else query.billing_mode

    @property
    def plain(self) -> bool:
        """Return whether an offer's price is a column of its own, or depends only on columns."""
        return not self.paid_gb

    def column(self, name: str) -> Keys:
        match name:
            case "price":
                return self.price
            case "total":
                return self.total
            case _:
                return tflops_per_price(self.store["rate"], self.price)

    @cached_property
    def sells(self) -> NDArray[np.bool_] | None:
        """Return who sells the mode, or None for everyone.

        A reserved term counts only where the host stays until its end.
        """
        match self.mode:
            case "hourly":
                return None
            case "tiered":
                tiered: NDArray[np.bool_] = self.store["tiered"]
                return tiered
            case "spot":
                spot: NDArray[np.bool_] = self.store["spot"] != UNKNOWN
                return spot
            case term:
                stays: NDArray[np.bool_] = self.store["lease_hours"] >= self._term_ends_us
                sold: NDArray[np.bool_] = self.store[term] != UNKNOWN
                return stays & sold

    @cached_property
    def price(self) -> Keys:
        unit = unit_price(self.store, self.mode, ALL)
        return unit if self.plain else _plus(unit, _half_up(self._disk, _HOURS_PER_DAY * self.count))

    @cached_property
    def total(self) -> Keys:
        unit = unit_price(self.store, self.mode, ALL)
        whole = np.where(unit == UNKNOWN, UNKNOWN, unit * self.count) if self.count > 1 else unit
        return whole if self.plain else _plus(whole, _half_up(self._disk, _HOURS_PER_DAY))

    def at(self, slots: Sequence[int]) -> tuple[Keys, Keys]:
        """Return price and total of these rows only."""
        unit = unit_price(self.store, self.mode, slots)
        whole = np.where(unit == UNKNOWN, UNKNOWN, unit * self.count)
        if self.plain:
            return unit, whole
        disk = self.store["disk_price"][slots] * self.paid_gb
        return _plus(unit, _half_up(disk, _HOURS_PER_DAY * self.count)), _plus(whole, _half_up(disk, _HOURS_PER_DAY))

    @cached_property
    def _disk(self) -> Keys:
        disk: Keys = self.store["disk_price"] * self.paid_gb
        return disk


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def unit_price(rows: Columns, mode: str, slots: Any) -> Keys:
    """Return the price per GPU and hour, without a disk."""
    hourly: Keys = rows["hourly"][slots]
    match mode:
        case "hourly":
            return hourly
        case "tiered":
            return np.where(rows["tiered"][slots], hourly, UNKNOWN)
        case "spot":
            spot: Keys = rows["spot"][slots]
            return spot
        case _:
            off = rows[mode][slots].astype(np.int64)
            return np.where(off == UNKNOWN, UNKNOWN, _half_up(hourly * (_BPS - off), _BPS))


def tflops_per_price(rate: NDArray[np.int32], price: Keys) -> Keys:
    """Return thousandths of a TFLOPS per unit of money and hour.

    UNKNOWN for an unknown rate or a price of zero.
    """
    known = (rate != UNKNOWN) & (price > 0)
    divisor = np.where(known, price, 1)
    return np.where(known, _half_up(rate.astype(np.int64) * MICROS_PER_UNIT, divisor), UNKNOWN)


def _plus(price: Keys, share: Keys) -> Keys:
    return np.where(price == UNKNOWN, UNKNOWN, price + share)


def _half_up(numerator: Keys, denominator: Any) -> Keys:
    """Return what `common.money.divide_half_up` returns, for numbers that are not negative."""
    quotient: Keys = (2 * numerator + denominator) // (2 * denominator)
    return quotient
