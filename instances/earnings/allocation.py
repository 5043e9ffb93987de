"""Money shared out exactly: equal parts by the largest remainder, and sums of them."""

from dataclasses import dataclass
from typing import Final

_HOUR_S: Final = 3600


def parts(micros: int, count: int) -> list[int]:
    """`micros` in equal parts that add up to it: those that would be a micro-unit short come last.

    All remainders are equal, so the first ones by order get one more; a negative amount is the mirror of its positive.
    """
    each, rest = divmod(abs(micros), count)
    sign = 1 if micros >= 0 else -1
    return [sign * (each + (place < rest)) for place in range(count)]


@dataclass
class Sum:
    """What renters were charged, what of it was given back, and the platform's fee on what they have kept paying."""

    gross_micros: int = 0
    given_back_micros: int = 0
    fee_micros: int = 0
    seconds: float = 0

    @property
    def net_micros(self) -> int:
        """The host owner's."""
        return self.gross_micros - self.given_back_micros - self.fee_micros

    @property
    def gpu_hours(self) -> float:
        return round(self.seconds / _HOUR_S, 2)

    def add(self, charge_micros: int, fee_micros: int, seconds: float) -> None:
        """A negative charge was given back."""
        if charge_micros >= 0:
            self.gross_micros += charge_micros
        else:
            self.given_back_micros -= charge_micros
        self.fee_micros += fee_micros
        self.seconds += seconds
