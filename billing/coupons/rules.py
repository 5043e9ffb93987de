"""Pure arithmetic of coupons: what a code gives, what it may pay for, and what use has consumed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from common.money import divide_half_up

_BPS = 10_000


def bonus_micros(amount_micros: int, percent_bps: int, most_micros: int | None) -> int:
    """Return what a percent coupon adds to a top-up, rounded half up and limited by its cap."""
    bonus = divide_half_up(amount_micros * percent_bps, _BPS)
    return bonus if most_micros is None else min(bonus, most_micros)


@dataclass(frozen=True)
class Bonus:
    """Bonus of a percent coupon: at most what the kept part of its top-up gives, in micro-units.

    `remaining` is left in the coupon. `out` was drawn from it and is spent or held; `repaid` of that was paid for
    with cash, and `waived` never has to be.
    """

    percent_bps: int
    most_micros: int | None
    granted: int
    remaining: int
    out: int
    repaid: int = 0
    waived: int = 0

    def due(self, kept_micros: int) -> int:
        """Return what the kept part of the top-up gives."""
        return bonus_micros(kept_micros, self.percent_bps, self.most_micros)

    def to_repay(self, kept_micros: int) -> int:
        """Return the part of `out` that is not due and not paid for yet; negative: the amount to give back."""
        return max(0, self.out - self.waived - self.due(kept_micros)) - self.repaid

    def change(self, kept_micros: int) -> int:
        """Return what the coupon gains, or (negative) loses of its rest; expired money is never given again."""
        due = self.due(kept_micros)
        if due >= self.granted:
            return due - self.granted
        return -max(0, min(self.remaining, self.remaining + self.out - due))

    def most_refundable(self, *, kept_micros: int, cash_micros: int, step_micros: int) -> int:
        """Return the most that can be refunded of a top-up, in steps of `step_micros`.

        The cash has to pay for the refund and for the part of the bonus that is to be repaid then.
        """
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
    """Return how much of each draw a payment consumes, in the order of the draws.

    Coupons pay before cash.
    """
    parts, left = [], paid_micros
    for amount in unused:
        part = max(0, min(amount, left))
        parts.append(part)
        left -= part
    return parts


@dataclass(frozen=True)
class Step:
    """One movement of a source's money, in the ledger's order.

    `drawn` moves coupons to the wallet, `returned` moves wallet money to coupons, and `paid` is what the source
    cost (negative: given back).
    """

    kind: Literal["drawn", "returned", "paid"]
    amount_micros: int
    inside: bool = True


def coupon_part(steps: Iterable[Step]) -> int:
    """Return how much of the payments marked `inside` was coupon money; negative when more came back.

    The source's whole history is replayed: drawn money is unused until the next payment consumes it. Returned
    money is first the unused part, then what had been used.
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
