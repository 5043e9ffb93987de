"""Reads of where owed money lies.

Money is owed when a bank took it back after it was spent, or when it was spent without existing.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from billing.constants import PAYOUT_HOLDING
from billing.ledger.raw_rows import rows
from billing.ledger.tracing import Earned, Flow, Place, TraceStart, trace
from common import clock

_PAGE: Final = 500
"""Entries of one wallet that are read at once."""

# The causes of the standing debts, for each debtor the newest first: repayments pay the oldest first. A dispute that
# was won or a refund that failed is undone by itself. An early end of a term that its renter could not pay names the
# host that earned it. A debt for a used bonus was gift money, which the host keeps; it counts only as far as it has
# not been repaid (`repaid_micros`). `fresh` is what repaid the debt out of a card or a wallet since a moment: it is
# recent enough to be taken back itself.
_DEBTS = """
SELECT debt.id, debt.owner_id, -debt.balance_micros, fresh.micros, entry.id,
       LEAST(-entry.amount_micros, bonus.repaid_micros),
       COALESCE(dispute.payment_id, refund.payment_id), share.wallet_id, COALESCE(share.amount_micros, 0)
FROM billing_wallet debt
CROSS JOIN LATERAL (
    SELECT COALESCE(sum(CASE repaid.kind WHEN 'top_up' THEN repaid.amount_micros ELSE purse.micros END), 0)::bigint AS micros
    FROM billing_entry repaid
    JOIN billing_posting made ON made.id = repaid.posting_id AND made.created_at > %(matured)s
    CROSS JOIN LATERAL (
        SELECT -sum(own.amount_micros) AS micros FROM billing_entry own
        JOIN billing_wallet renter ON renter.id = own.wallet_id AND renter.kind = 'renter'
        WHERE own.posting_id = made.id) AS purse
    WHERE repaid.wallet_id = debt.id AND repaid.amount_micros > 0 AND repaid.kind IN ('top_up', 'repayment')
) AS fresh
JOIN billing_entry entry ON entry.wallet_id = debt.id AND entry.amount_micros < 0
JOIN billing_posting posting ON posting.id = entry.posting_id
LEFT JOIN billing_dispute dispute ON posting.source_kind = 'dispute' AND dispute.id = posting.source_id
LEFT JOIN billing_refund refund ON posting.source_kind = 'refund' AND refund.id = posting.source_id
LEFT JOIN billing_entry share ON share.posting_id = posting.id AND share.kind = 'host_share'
LEFT JOIN billing_coupon bonus ON entry.kind = 'bonus' AND bonus.payment_id = posting.source_id
WHERE debt.kind = 'debt' AND (debt.balance_micros < 0 OR fresh.micros > 0)
  AND COALESCE(dispute.state, '') <> 'won' AND COALESCE(refund.state, '') <> 'failed'
ORDER BY debt.owner_id, entry.id DESC
"""

# What of these payments was taken back, and where they went: into the wallet, or to repay an earlier debt.
_PAYMENTS = """
SELECT payment.id, entry.id, wallet.id, wallet.kind, LEAST(entry.amount_micros, taken.micros)
FROM billing_payment payment
CROSS JOIN LATERAL (
    SELECT LEAST(payment.amount_micros, payment.refunded_micros + COALESCE(
        (SELECT sum(amount_micros) FROM billing_dispute WHERE payment_id = payment.id AND state <> 'won'), 0))::bigint
        AS micros) AS taken
JOIN billing_posting posting ON posting.source_kind = 'topup' AND posting.source_id = payment.id
JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.amount_micros > 0
JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.kind IN ('renter', 'debt')
WHERE payment.id = ANY(%(payments)s::uuid[])
"""

# Money that leaves a renter's wallet, and money that hosts give back to it. For use, each host's part comes from the
# usage rows. Coupon money moves beside it. Money that leaves the market names its owner (the payment that it goes
# back to, or the debtor that it repays for) and what stays in the wallet. A failed refund and a won dispute have
# taken nothing.
_OF_WALLET = """
WITH picked AS MATERIALIZED (
    SELECT entry.id, entry.posting_id, entry.kind, LEAST(abs(entry.amount_micros), bonus.repaid_micros) AS amount,
           posting.source_id,
           COALESCE(dispute.payment_id, refund.payment_id) AS payment_id
    FROM billing_entry entry JOIN billing_posting posting ON posting.id = entry.posting_id
    LEFT JOIN billing_dispute dispute ON posting.source_kind = 'dispute' AND dispute.id = posting.source_id
    LEFT JOIN billing_refund refund ON posting.source_kind = 'refund' AND refund.id = posting.source_id
    LEFT JOIN billing_coupon bonus ON entry.kind = 'bonus' AND bonus.payment_id = posting.source_id
    WHERE entry.wallet_id = %(place)s AND entry.id > %(after)s
      AND (entry.kind = 'refund' OR entry.amount_micros < 0 AND entry.kind <> 'coupon' AND NOT %(only_returns)s)
      AND COALESCE(dispute.state, '') <> 'won' AND COALESCE(refund.state, '') <> 'failed'
    ORDER BY entry.id LIMIT %(page)s
)
SELECT picked.id, picked.kind, picked.amount::bigint,
       CASE picked.kind WHEN 'repayment' THEN (SELECT owner_id FROM billing_wallet WHERE id = %(place)s)
       ELSE COALESCE(other.wallet_id, picked.payment_id, picked.source_id) END,
       COALESCE(abs(other.amount_micros), picked.amount)::bigint,
       CASE WHEN picked.kind NOT IN ('refund', 'exit_fee', 'transfer', 'prepaid') THEN (
           SELECT sum(amount_micros) FROM billing_entry WHERE wallet_id = %(place)s AND id <= picked.id)::bigint END
FROM picked LEFT JOIN billing_entry other ON other.posting_id = picked.posting_id AND other.id <> picked.id
    AND other.kind = CASE picked.kind WHEN 'transfer' THEN 'transfer' ELSE 'host_share' END
WHERE picked.kind <> 'charge'
UNION ALL
SELECT picked.id, 'charge', sum(charge_micros)::bigint, payee_id, sum(charge_micros - fee_micros)::bigint, NULL
FROM picked JOIN billing_usage usage ON usage.charge_entry_id = picked.id
JOIN billing_meter meter ON meter.id = usage.meter_id
WHERE picked.kind = 'charge' GROUP BY picked.id, payee_id
ORDER BY 1, 4
"""

# The same for the prepaid money of one term, which lies in the market's escrow: refunds go to its renter.
_OF_TERM = """
SELECT usage.charge_entry_id, 'charge', sum(charge_micros)::bigint, payee_id, sum(charge_micros - fee_micros)::bigint, NULL
FROM billing_meter meter
JOIN billing_wallet payer ON payer.id = meter.payer_id AND payer.kind = 'escrow'
JOIN billing_usage usage ON usage.meter_id = meter.id AND usage.charge_entry_id > %(after)s
WHERE meter.source_kind = 'term' AND meter.source_id = %(place)s
GROUP BY usage.charge_entry_id, payee_id
UNION ALL
SELECT entry.id, entry.kind, abs(entry.amount_micros)::bigint, other.wallet_id, abs(other.amount_micros)::bigint, NULL
FROM billing_posting posting
JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.id > %(after)s
    AND (entry.amount_micros < 0 OR entry.kind = 'refund')
JOIN billing_wallet escrow ON escrow.id = entry.wallet_id AND escrow.kind = 'escrow'
JOIN billing_entry other ON other.posting_id = posting.id AND other.id <> entry.id
    AND other.kind = CASE entry.kind WHEN 'prepaid' THEN 'prepaid' ELSE 'host_share' END
WHERE posting.source_kind = 'term' AND posting.source_id = %(place)s AND posting.kind <> 'usage'
ORDER BY 1, 4
"""


@dataclass(frozen=True)
class OwedMoney:
    """Places where owed money lies, by debtor; the total per debtor never exceeds what the debtor owes.

    A host is paid such money when the repayment of the debt has matured (PAYOUT_HOLDING), as if the host had
    earned it then; otherwise another stolen card would free at once what the first one earned. Money in a wallet
    is free at once: what a host earns from it has yet to mature.
    """

    owes: dict[UUID, int] = field(default_factory=dict)  # by user
    repaid_lately: dict[UUID, int] = field(default_factory=dict)
    places: dict[Place | Earned, dict[UUID, int]] = field(default_factory=dict)

    def at_host(self, wallet_id: UUID, *, but_from: frozenset[UUID] = frozenset()) -> int:
        """Return how much of it a host's wallet has earned.

        `but_from` names renter wallets whose money is not paid out anyway.
        """
        total: dict[UUID, int] = defaultdict(int)
        for place, debts in self.places.items():
            if not isinstance(place[0], str) and place[1] == wallet_id and place[0][1] not in but_from:
                for debtor, micros in debts.items():
                    total[debtor] += micros
        return sum(min(micros, self.owes[debtor] + self.repaid_lately[debtor]) for debtor, micros in total.items())

    def lying_in(self, kind: str) -> dict[UUID, dict[UUID, int]]:
        """Return owed money that has not reached a host, by `wallet` or `term` id, then by debtor."""
        found = {}
        for place, debts in self.places.items():
            owed = {debtor: min(micros, self.owes[debtor]) for debtor, micros in debts.items() if self.owes[debtor]}
            if place[0] == kind and owed:
                found[place[1]] = owed
        return found


@dataclass(frozen=True)
class _Debt:
    """Origin of a debt: a payment that was taken back, or a host's earning that nobody paid."""

    wallet_id: UUID
    debtor: UUID
    owes_micros: int
    fresh_micros: int
    entry_id: int
    made_micros: int
    payment_id: UUID | None
    host_id: UUID | None
    share_micros: int


def owed_money(now: datetime | None = None) -> OwedMoney:
    """Return where owed money lies, traced from each standing debt by `billing.ledger.tracing`.

    `now` sets another time than the clock's. A debt ends with its repayment, whatever became of its cause: a
    dispute that was lost is a debt like any other.
    """
    debts = [_Debt(*row) for row in rows(_DEBTS, matured=(now or clock.now()) - PAYOUT_HOLDING)]
    if not debts:
        return OwedMoney()
    brought = _brought(debts)
    repaid_by = {payment_id for payment_id, _entry, _wallet, kind, _micros in brought if kind == "debt"}
    standing = [
        debt for _debtor, group in groupby(debts, key=attrgetter("debtor")) for debt in _standing(list(group), repaid_by)
    ]
    owes = {debt.debtor: int(debt.owes_micros) for debt in standing}
    lately = {debt.debtor: int(debt.fresh_micros) for debt in standing}
    return OwedMoney(owes, lately, _traced(_starts(standing, brought)))


def _traced(starts: list[TraceStart]) -> dict[Place | Earned, dict[UUID, int]]:
    """Trace money until no further payment turns up that was paid back with other money in question."""
    while True:
        traced = trace(starts, _read)
        known = {start.payment for start in starts}
        fresh = {payment: debts for payment, debts in traced.paid_back.items() if payment not in known}
        more = _starts_of_repaid(fresh)
        if not more:
            return traced.places
        starts = [*starts, *more]


def _starts_of_repaid(paid_back: dict[UUID, dict[UUID, int]]) -> list[TraceStart]:
    """Return what these payments brought into wallets, for the debtors whose money has paid them back."""
    starts: list[TraceStart] = []
    for payment_id, entry_id, wallet_id, kind, taken in _of_payments(set(paid_back)):
        left = int(taken)
        for debtor, micros in paid_back[payment_id].items() if kind == "renter" else ():
            starts.append(TraceStart(entry_id, debtor, ("wallet", wallet_id), min(micros, left), payment_id))
            left -= starts[-1].micros
    return [start for start in starts if start.micros > 0]


def _brought(debts: Sequence[_Debt]) -> list[tuple[Any, ...]]:
    return _of_payments({debt.payment_id for debt in debts if debt.payment_id is not None})


def _of_payments(payments: set[UUID]) -> list[tuple[Any, ...]]:
    return rows(_PAYMENTS, payments=list(payments)) if payments else []


def _standing(newest_first: list[_Debt], repaid_by: set[UUID]) -> list[_Debt]:
    """Return the debts that are not repaid.

    When a debt was repaid by a payment that was itself taken back, all debts of that debtor count again.
    """
    left, standing = newest_first[0].owes_micros + newest_first[0].fresh_micros, []
    for debt in newest_first:
        if left <= 0:
            break
        standing.append(debt)
        left -= debt.made_micros
    return newest_first if any(debt.payment_id in repaid_by for debt in standing) else standing


def _starts(debts: Sequence[_Debt], brought: Sequence[tuple[Any, ...]]) -> list[TraceStart]:
    debtors = {debt.payment_id: debt.debtor for debt in debts if debt.payment_id is not None}
    starts = [
        TraceStart(entry_id, debtors[payment_id], ("wallet", wallet_id), int(micros), payment_id)
        for payment_id, entry_id, wallet_id, kind, micros in brought
        if kind == "renter" and payment_id in debtors
    ]
    for debt in debts:
        if debt.host_id is not None:
            earned: Earned = (("debt", debt.wallet_id), debt.host_id)
            starts.append(TraceStart(debt.entry_id, debt.debtor, earned, int(min(debt.made_micros, debt.share_micros))))
    return starts


def _read(place: Place, after: int, only_returns: bool) -> list[Flow]:
    kind, key = place
    found = (
        rows(_OF_WALLET, place=key, after=after, only_returns=only_returns, page=_PAGE)
        if kind == "wallet"
        else rows(_OF_TERM, place=key, after=after)
    )
    return [_flow(place, row) for row in found]


def _flow(place: Place, row: tuple[int, str, int, UUID, int, int | None]) -> Flow:
    number, kind, micros, other, arrives, stays = row
    if kind == "refund":  # returned by a host
        return Flow(number, (place, other), place, arrives, arrives)
    if kind in ("charge", "exit_fee"):
        return Flow(number, place, (place, other), micros, arrives)
    if kind == "transfer":
        return Flow(number, place, ("wallet", other), micros, micros)
    if kind == "prepaid":
        return Flow(number, place, ("wallet" if place[0] == "term" else "term", other), micros, micros)
    # Leaves the market: back to the card, to its bank, or against a debt.
    return Flow(number, place, None, micros, 0, of=other, stays=stays or 0)
