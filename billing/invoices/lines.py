"""Pure contents of an invoice: lines as plain values, sums and the included tax."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from common.money import divide_half_up

_BPS = 10_000


@dataclass(frozen=True)
class InvoiceLine:
    """One line of an invoice: a duration at a rate, or an amount alone (`rate_micros` None).

    Positive amounts are charged.
    """

    kind: str
    what: str
    source_kind: str
    source_id: str
    mode: str
    begins: str
    ends: str
    microseconds: int
    rate_micros: int | None
    rate_hours: int
    amount_micros: int

    @property
    def seconds(self) -> float:
        return self.microseconds / 1_000_000

    @property
    def since(self) -> datetime:
        return datetime.fromisoformat(self.begins)

    @property
    def until(self) -> datetime:
        return datetime.fromisoformat(self.ends)

    def frozen(self) -> dict[str, Any]:
        return asdict(self)

    def reversed(self) -> "InvoiceLine":
        return replace(self, amount_micros=-self.amount_micros)


def lines_from_json(lines: Iterable[dict[str, Any]]) -> list[InvoiceLine]:
    """Return the lines of an issued invoice."""
    return [InvoiceLine(**line) for line in lines]


def total_of(lines: Sequence[InvoiceLine]) -> int:
    return sum(line.amount_micros for line in lines)


def tax_within(total_micros: int, tax_bps: int) -> int:
    """Return the tax in a price that includes it: total × rate ÷ (1 + rate), rounded half up."""
    return divide_half_up(total_micros * tax_bps, _BPS + tax_bps)


def number_of_seconds(microseconds: int) -> str:
    """Return seconds as a decimal without trailing zeros: 5400000000 -> "5400", 1500000 -> "1.5"."""
    whole, rest = divmod(microseconds, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") if rest else str(whole)
