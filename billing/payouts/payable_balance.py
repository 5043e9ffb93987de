"""How much of a host owner's earnings can be paid out, and why not more: reckoned, not read."""

from dataclasses import dataclass

from billing.constants import PAYOUT_LEAST_MICROS, PAYOUT_RESERVE_BPS
from billing.stripe.currencies import round_down

_BPS = 10_000


@dataclass(frozen=True)
class Payable:
    """A host wallet as payouts see it, in micro-units.

    `young_micros` is the net earned within the holding period, `recent_micros` the net earned within the reserve's span,
    `disputed_micros` what came from money that renters owe (`billing.tracing`), `debt_micros` what the owner owes,
    `unpaid_micros` what they paid themselves (`billing.people.self_rental`), which counts as neither young nor recent,
    `reported_micros` what has matured of what renters have reported as not working, while staff have not decided.
    What is under way has left the balance already.
    """

    currency: str
    balance_micros: int = 0
    young_micros: int = 0
    recent_micros: int = 0
    disputed_micros: int = 0
    under_way_micros: int = 0
    debt_micros: int = 0
    unpaid_micros: int = 0
    reported_micros: int = 0

    @property
    def waiting_micros(self) -> int:
        """Earned, and not matured yet."""
        return max(0, self.young_micros)

    @property
    def reserve_micros(self) -> int:
        """Rounded up: what is kept is never less than the rule says."""
        return -(-max(0, self.recent_micros) * PAYOUT_RESERVE_BPS // _BPS)

    @property
    def payable_micros(self) -> int:
        """Never above the balance, since each deduction is at least zero; in whole steps of the currency."""
        return round_down(max(0, self.matured_micros - self.debt_micros), self.currency)

    @property
    def matured_micros(self) -> int:
        """The owner's to take, or to repay what they owe with; never negative."""
        kept = self.waiting_micros + self.reserve_micros + self.disputed_micros + self.unpaid_micros + self.reported_micros
        return max(0, self.balance_micros - kept)

    @property
    def owed_micros(self) -> int:
        """A negative balance, as a positive number: later earnings fill it first."""
        return max(0, -self.balance_micros)

    @property
    def is_short(self) -> bool:
        """More has to stay than is left: what is on its way and has not been sent yet must not leave."""
        kept = self.disputed_micros + self.unpaid_micros + self.reported_micros + self.debt_micros
        return kept > max(0, self.balance_micros)

    @property
    def is_payable(self) -> bool:
        return self.payable_micros >= PAYOUT_LEAST_MICROS
