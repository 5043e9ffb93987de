"""Reads of host owners' payouts: payable amounts, due owners, and lists of payouts."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from billing.constants import PAYOUT_EVERY, PAYOUT_HOLDING, PAYOUT_LEAST_MICROS, PAYOUT_RESERVE_SPAN, PAYOUT_TRY_AGAIN
from billing.ledger.raw_rows import rows
from billing.ledger.trace_selectors import OwedMoney, owed_money
from billing.models import ConnectedAccount, Payout, PayoutAccount, PayoutMethod
from billing.payouts.payable_balance import PayableBalance
from billing.people.selectors import debt_of_person
from billing.people.self_rental import unpayable_earnings_of
from billing.states import PayoutState
from common.errors import NotFound

_PAYABLE = """
SELECT wallet.owner_id, wallet.id, wallet.balance_micros, COALESCE(lately.young, 0), COALESCE(lately.earned, 0),
       COALESCE(under_way.amount, 0)
FROM billing_wallet wallet
LEFT JOIN LATERAL (
    SELECT sum(entry.amount_micros) AS earned,
           sum(entry.amount_micros) FILTER (WHERE posting.created_at > %(matured)s) AS young
    FROM billing_entry entry JOIN billing_posting posting ON posting.id = entry.posting_id
    WHERE entry.wallet_id = wallet.id AND entry.kind NOT IN ('payout', 'repayment') AND posting.created_at > %(reserved)s
) AS lately ON true
LEFT JOIN LATERAL (
    SELECT sum(payout.amount_micros) AS amount FROM billing_payout payout
    WHERE payout.owner_id = wallet.owner_id AND payout.state IN ('pending', 'sent')
) AS under_way ON true
WHERE wallet.kind = 'host' AND wallet.owner_id = ANY(%(owners)s::uuid[])
"""

# The matured shares of sources about which staff have not decided yet.
_REPORTED = """
SELECT held.owner_id, COALESCE(sum(usage.charge_micros - usage.fee_micros), 0)
FROM billing_holdback held
JOIN billing_meter meter ON meter.source_kind = held.source_kind AND meter.source_id = held.source_id
JOIN billing_usage usage ON usage.meter_id = meter.id
JOIN billing_posting posting ON posting.id = usage.posting_id AND posting.created_at <= %(matured)s
WHERE held.closed_at IS NULL AND held.owner_id = ANY(%(owners)s::uuid[])
GROUP BY held.owner_id
"""

_DUE = """
SELECT account.owner_id, GREATEST(account.minimum_micros, %(least)s)
FROM billing_payoutaccount account
JOIN billing_wallet wallet ON wallet.owner_id = account.owner_id AND wallet.kind = 'host'
WHERE account.automatic AND NOT account.frozen AND (account.pays_from IS NULL OR account.pays_from <= %(now)s)
  AND wallet.balance_micros >= GREATEST(account.minimum_micros, %(least)s)
  AND NOT EXISTS (
      SELECT FROM billing_payout payout
      WHERE payout.owner_id = account.owner_id
        AND (payout.state IN ('pending', 'sent')
             OR payout.created_at > CASE payout.state WHEN 'failed' THEN %(tried)s ELSE %(week_ago)s END))
"""


def payables_of(*, owner_ids: Sequence[UUID], now: datetime) -> dict[UUID, PayableBalance]:
    """Return what can be paid out to each of these owners; those without earnings are left out."""
    owners, currency = list(owner_ids), str(settings.MARKET_CURRENCY)
    since = {"matured": now - PAYOUT_HOLDING, "reserved": now - PAYOUT_RESERVE_SPAN}
    found = rows(_PAYABLE, owners=owners, **since)
    owed = owed_money(now) if found else OwedMoney()
    reported = dict(rows(_REPORTED, owners=owners, matured=since["matured"])) if found else {}
    payables = {}
    for owner_id, wallet_id, balance, young, recent, under_way in found:
        unpaid = unpayable_earnings_of(owner_id=owner_id, wallet_id=wallet_id, **since)
        payables[owner_id] = PayableBalance(
            currency,
            int(balance),
            int(young) - unpaid.young_micros,
            int(recent) - unpaid.recent_micros,
            disputed_micros=owed.at_host(wallet_id, but_from=unpaid.wallets),
            under_way_micros=int(under_way),
            debt_micros=debt_of_person(owner_id),
            unpaid_micros=unpaid.micros,
            reported_micros=int(reported.get(owner_id, 0)),
        )
    return payables


def payable_of(*, owner_id: UUID, now: datetime) -> PayableBalance:
    """Return what can be paid out to one owner; all zeros without earnings."""
    return payables_of(owner_ids=[owner_id], now=now).get(owner_id, PayableBalance(str(settings.MARKET_CURRENCY)))


def due_owners(*, now: datetime) -> list[UUID]:
    """Return owners whose weekly payout is due and reaches their minimum."""
    times = {"now": now, "week_ago": now - PAYOUT_EVERY, "tried": now - PAYOUT_TRY_AGAIN}
    minimums = dict(rows(_DUE, least=PAYOUT_LEAST_MICROS, **times))
    payables = payables_of(owner_ids=list(minimums), now=now)
    return sorted(owner for owner, payable in payables.items() if payable.payable_micros >= minimums[owner])


def payouts_of(owner_id: UUID) -> QuerySet[Payout]:
    """Return the owner's payouts, newest first."""
    return Payout.objects.filter(owner_id=owner_id).order_by("-created_at", "-id")


def payout_of(*, owner_id: UUID, payout_id: UUID) -> Payout:
    """Return one of the owner's payouts.

    Raises:
        NotFound: the owner has no such payout.
    """
    payout = payouts_of(owner_id).filter(pk=payout_id).first()
    if payout is None:
        raise NotFound("This payout doesn't exist.")
    return payout


def payout_account_of(owner_id: UUID) -> PayoutAccount | None:
    return PayoutAccount.objects.filter(owner_id=owner_id).first()


def connected_account_of(owner_id: UUID) -> ConnectedAccount | None:
    return ConnectedAccount.objects.filter(owner_id=owner_id).first()


def bank_batch(batch: str) -> list[Payout]:
    """Return the payouts of one bank export in the order of their requests.

    Raises:
        NotFound: there is no such batch.
    """
    payouts = list(Payout.objects.filter(batch=batch).order_by("created_at", "pk")) if batch else []
    if not payouts:
        raise NotFound("This batch doesn't exist.")
    return payouts


def payouts_to_send() -> int:
    """Return how many payouts wait for staff to bring them to the bank."""
    return Payout.objects.filter(state=PayoutState.PENDING, method=PayoutMethod.BANK).count()
