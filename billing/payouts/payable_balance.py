"""Calculation of how much of a host owner's earnings can be paid out, and what reduces it."""

from dataclasses import dataclass

from billing.constants import PAYOUT_LEAST_MICROS, PAYOUT_RESERVE_BPS
from billing.stripe.currencies import round_down

_BPS = 10_000


@dataclass(frozen=True)
class PayableBalance:
    """Host wallet as payouts see it, in micro-units.

    `young_micros` is the net earned within the holding period, `recent_micros` the net earned within the
    reserve's span, `disputed_micros` what came from money that renters owe (`billing.ledger.tracing`),
    `debt_micros` what the owner owes, `unpaid_micros` what they paid themselves (`billing.people.self_rental`),
    which counts as neither young nor recent, and `reported_micros` the matured earnings from what renters have
    reported as not working, while staff have not decided. Payouts under way have left the balance already.
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
        """Return what is earned and not matured yet."""
        return max(0, self.young_micros)

    @property
    def reserve_micros(self) -> int:
        """Return the reserve, rounded up so that it is never less than the rule says."""
        return -(-max(0, self.recent_micros) * PAYOUT_RESERVE_BPS // _BPS)

    @property
    def payable_micros(self) -> int:
        """Return what can be paid out, in whole units of the currency; never above the balance."""
        return round_down(max(0, self.matured_micros - self.debt_micros), self.currency)

    @property
    def matured_micros(self) -> int:
        """Return what the owner can take, or repay debts with; never negative."""
        kept = self.waiting_micros + self.reserve_micros + self.disputed_micros + self.unpaid_micros + self.reported_micros
        return max(0, self.balance_micros - kept)

    @property
    def owed_micros(self) -> int:
        """Return a negative balance as a positive number: later earnings fill it first."""
        return max(0, -self.balance_micros)

    @property
    def is_short(self) -> bool:
        """Return whether more must stay than is left: then pending payouts must not be sent."""
        kept = self.disputed_micros + self.unpaid_micros + self.reported_micros + self.debt_micros
        return kept > max(0, self.balance_micros)

    @property
    def is_payable(self) -> bool:
        return self.payable_micros >= PAYOUT_LEAST_MICROS
