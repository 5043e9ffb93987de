"""What use is priced by: a rate for a number of hours, steps, and what the money held for it must cover."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """What money is held for: coupons may be meant for a billing mode or a GPU model alone, and charts tell them apart."""

    mode: str = ""
    gpu_model: str = ""


@dataclass(frozen=True)
class Tariff:
    """`rate_micros` for each `hours` hours: 1 for GPUs, 24 for storage.

    `steps` are (from so many microseconds of continuous use on, rate), rising; before the first it is `rate_micros`.
    `most_micros` is the most that `hours` hours can cost, where the rate moves (spot): holds are reckoned with it.
    """

    rate_micros: int
    hours: int = 1
    steps: tuple[tuple[int, int], ...] = ()
    most_micros: int | None = None

    @property
    def worst(self) -> "Tariff":
        """What a hold must reckon with."""
        return self if self.most_micros is None else Tariff(self.most_micros, self.hours)

    def rate_at(self, used_us: int) -> int:
        """The rate that holds from `used_us` microseconds of continuous use on."""
        return next((rate for begins_us, rate in reversed(self.steps) if begins_us <= used_us), self.rate_micros)
