"""Tariffs: a rate for a number of hours, its steps, and what the money held for it must cover."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """Purpose of held money: coupons may be limited to a billing mode or GPU model; charts separate them."""

    mode: str = ""
    gpu_model: str = ""


@dataclass(frozen=True)
class Tariff:
    """`rate_micros` for each `hours` hours: 1 for GPUs, 24 for storage.

    `steps` are pairs (microseconds of continuous use from which it applies, rate), rising; before the first,
    `rate_micros` applies. `most_micros` is the highest cost of `hours` hours where the rate changes with the
    market (spot): holds are computed with it.
    """

    rate_micros: int
    hours: int = 1
    steps: tuple[tuple[int, int], ...] = ()
    most_micros: int | None = None

    @property
    def worst(self) -> "Tariff":
        """Return the tariff that a hold must be computed with."""
        return self if self.most_micros is None else Tariff(self.most_micros, self.hours)

    def rate_at(self, used_us: int) -> int:
        """Return the rate from `used_us` microseconds of continuous use on."""
        return next((rate for begins_us, rate in reversed(self.steps) if begins_us <= used_us), self.rate_micros)
