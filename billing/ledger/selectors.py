"""Reads of a renter's wallet as of a moment."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from billing.ledger.raw_rows import rows

# Accrued is used, proven and not posted yet; the burn is what an hour costs from now on, storage included.
_WALLET = """
SELECT wallet.balance_micros, wallet.held_micros, COALESCE(accruing.accrued, 0), COALESCE(running.rate, 0)
FROM billing_wallet wallet
LEFT JOIN LATERAL (
    SELECT sum(billing_meter_cost(meter, GREATEST(settled_until, LEAST(billing_meter_end(meter, %(now)s), %(now)s)))
               - billing_meter_cost(meter, settled_until)) AS accrued
    FROM billing_meter meter WHERE payer_id = wallet.id AND NOT is_finished
) AS accruing ON true
LEFT JOIN LATERAL (
    SELECT ceil(sum(billing_meter_rate(meter, GREATEST(opened_at, %(now)s))::numeric / rate_hours))::bigint AS rate
    FROM billing_meter meter
    WHERE payer_id = wallet.id AND NOT is_finished AND closed_at IS NULL AND (capped_at IS NULL OR capped_at > %(now)s)
) AS running ON true
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
"""


@dataclass(frozen=True)
class WalletView:
    """A renter's wallet as of a moment; accrued use is not posted yet and is paid out of the held money."""

    balance_micros: int = 0
    held_micros: int = 0
    accrued_micros: int = 0
    burn_micros_per_hour: int = 0

    @property
    def live_micros(self) -> int:
        """Return the balance less what has been used since the last posting."""
        return self.balance_micros - self.accrued_micros

    @property
    def spendable_micros(self) -> int:
        return self.balance_micros - self.held_micros

    @property
    def runway_hours(self) -> float | None:
        """Return how many hours the money lasts at the present rate, or None when nothing runs."""
        return round(self.live_micros / self.burn_micros_per_hour, 1) if self.burn_micros_per_hour else None


def wallet_of(*, owner_id: UUID, now: datetime) -> WalletView:
    """Return the renter's wallet as of `now`, or an empty view for a renter without one."""
    found = rows(_WALLET, owner=owner_id, now=now)
    return WalletView(*(int(value) for value in found[0])) if found else WalletView()
