"""Exact division of amounts into equal parts, and their sums."""

from dataclasses import dataclass
from typing import Final

_HOUR_S: Final = 3600


def split_equally(micros: int, count: int) -> list[int]:
    """Split `micros` into equal parts that add up to it.

    The first parts are one micro-unit larger where it does not divide evenly; a negative amount is split like its
    positive.
    """
    each, rest = divmod(abs(micros), count)
    sign = 1 if micros >= 0 else -1
    return [sign * (each + (place < rest)) for place in range(count)]


@dataclass
class EarningsSum:
    """Sum of charges, of what of them was refunded, and of the platform's fee on the rest."""

    gross_micros: int = 0
    given_back_micros: int = 0
    fee_micros: int = 0
    seconds: float = 0

    @property
    def net_micros(self) -> int:
        """Return what the host owner earns."""
        return self.gross_micros - self.given_back_micros - self.fee_micros

    @property
    def gpu_hours(self) -> float:
        return round(self.seconds / _HOUR_S, 2)

    def add(self, charge_micros: int, fee_micros: int, seconds: float) -> None:
        """Add a charge; a negative one is a refund."""
        if charge_micros >= 0:
            self.gross_micros += charge_micros
        else:
            self.given_back_micros -= charge_micros
        self.fee_micros += fee_micros
        self.seconds += seconds
