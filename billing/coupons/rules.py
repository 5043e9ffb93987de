"""The rules of coupon money as pure arithmetic: what a code gives, what it may pay for, what use has consumed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from common.money import divide_half_up

_BPS = 10_000


def bonus_micros(amount_micros: int, percent_bps: int, most_micros: int | None) -> int:
    """What a percent coupon adds to a top-up, rounded half up and never more than its cap."""
    bonus = divide_half_up(amount_micros * percent_bps, _BPS)
    return bonus if most_micros is None else min(bonus, most_micros)


@dataclass(frozen=True)
class Bonus:
    """What a percent coupon has given for its top-up, in micro-units. The rule: no more than the kept part of it gives.

    `remaining` is left in the coupon, `out` was drawn from it and is spent or set aside, `repaid` of that was paid for with
    cash, and `waived` never has to be.
    """

    percent_bps: int
    most_micros: int | None
    granted: int
    remaining: int
    out: int
    repaid: int = 0
    waived: int = 0

    def due(self, kept_micros: int) -> int:
        """What the kept part of the top-up gives."""
        return bonus_micros(kept_micros, self.percent_bps, self.most_micros)

    def to_repay(self, kept_micros: int) -> int:
        """What of `out` the kept part does not give, and was not paid for yet; negative: so much comes back."""
        return max(0, self.out - self.waived - self.due(kept_micros)) - self.repaid

    def change(self, kept_micros: int) -> int:
        """What the coupon gains, or (negative) what of the rest in it goes. What expired never comes back."""
        due = self.due(kept_micros)
        if due >= self.granted:
            return due - self.granted
        return -max(0, min(self.remaining, self.remaining + self.out - due))

    def most_refundable(self, *, kept_micros: int, cash_micros: int, step_micros: int) -> int:
        """The most that may go back of a top-up, in steps: the cash pays it and what has to be repaid then."""
        low, high = 0, min(kept_micros, cash_micros) // step_micros
        while low < high:
            middle = (low + high + 1) // 2
            back = middle * step_micros
            if back + self.to_repay(kept_micros - back) <= cash_micros:
                low = middle
            else:
                high = middle - 1
        return low * step_micros


def consume(unused: Sequence[int], paid_micros: int) -> list[int]:
    """How much of each draw a payment of the source consumes: coupons first, in the order in which they were drawn."""
    parts, left = [], paid_micros
    for amount in unused:
        part = max(0, min(amount, left))
        parts.append(part)
        left -= part
    return parts


@dataclass(frozen=True)
class Step:
    """Something that happened to the money of one source, in the ledger's order.

    `drawn` coupons → wallet, `returned` wallet → coupons, `paid` what the source cost then (negative: given back).
    """

    kind: Literal["drawn", "returned", "paid"]
    amount_micros: int
    inside: bool = True


def coupon_part(steps: Iterable[Step]) -> int:
    """How much of what was paid in the steps marked `inside` was coupon money; negative when more of it came back.

    The source's whole history is replayed: drawn money lies unused until the next payment consumes it. What comes back
    is first what lies unused, then what had been used.
    """
    unused = part = 0
    for step in steps:
        if step.kind == "drawn":
            unused += step.amount_micros
            continue
        if step.kind == "returned":
            used = -max(0, step.amount_micros - unused)
            unused -= step.amount_micros + used
        else:
            used = max(0, min(unused, step.amount_micros))
            unused -= used
        part += used if step.inside else 0
    return part
