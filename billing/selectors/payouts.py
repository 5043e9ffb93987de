"""Reads of host owners' payouts: what can be paid out, to whom it is due, and lists of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from billing.models import Payout, PayoutAccount, PayoutMethod
from billing.payable import Payable
from billing.policy import PAYOUT_EVERY, PAYOUT_HOLDING, PAYOUT_LEAST_MICROS, PAYOUT_RESERVE_SPAN, PAYOUT_TRY_AGAIN
from billing.selectors.rows import rows
from billing.states import PayoutState
from common.errors import NotFound

_PAYABLE = """
SELECT wallet.owner_id, wallet.balance_micros, COALESCE(lately.young, 0), COALESCE(lately.earned, 0),
       COALESCE(under_way.amount, 0)
FROM billing_wallet wallet
LEFT JOIN LATERAL (
    SELECT sum(entry.amount_micros) AS earned,
           sum(entry.amount_micros) FILTER (WHERE posting.created_at > %(matured)s) AS young
    FROM billing_entry entry JOIN billing_posting posting ON posting.id = entry.posting_id
    WHERE entry.wallet_id = wallet.id AND entry.kind <> 'payout' AND posting.created_at > %(reserved)s
) AS lately ON true
LEFT JOIN LATERAL (
    SELECT sum(payout.amount_micros) AS amount FROM billing_payout payout
    WHERE payout.owner_id = wallet.owner_id AND payout.state IN ('pending', 'sent')
) AS under_way ON true
WHERE wallet.kind = 'host' AND wallet.owner_id = ANY(%(owners)s::uuid[])
"""

_OPEN_DISPUTES = """
SELECT wallet.id, sum(dispute.amount_micros), min(payment.created_at)
FROM billing_dispute dispute
JOIN billing_payment payment ON payment.id = dispute.payment_id
JOIN billing_wallet wallet ON wallet.owner_id = payment.owner_id AND wallet.kind = 'renter'
WHERE dispute.state = 'open'
GROUP BY wallet.id
"""

# What each of these renters has paid each of these hosts since the disputed payment, and never more than is disputed. A
# prepaid term is paid by the market's escrow, whose first posting names the renter.
_DISPUTED = """
WITH disputed AS (
    SELECT * FROM unnest(%(renters)s::uuid[], %(amounts)s::bigint[], %(since)s::timestamptz[])
        AS disputed (wallet_id, amount, since)
), prepaid AS (
    SELECT posting.source_id AS term_id, entry.wallet_id FROM billing_posting posting
    JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.kind = 'prepaid'
    JOIN disputed ON disputed.wallet_id = entry.wallet_id
    WHERE posting.kind = 'term'
)
SELECT owner_id, sum(LEAST(amount, GREATEST(0, earned)))
FROM (SELECT host.owner_id, disputed.wallet_id, disputed.amount, sum(usage.charge_micros - usage.fee_micros) AS earned
      FROM billing_wallet host
      JOIN billing_entry entry ON entry.wallet_id = host.id AND entry.kind = 'host_share'
      JOIN billing_posting posting ON posting.id = entry.posting_id
      JOIN billing_usage usage ON usage.share_entry_id = entry.id
      JOIN billing_meter meter ON meter.id = usage.meter_id
      LEFT JOIN prepaid ON prepaid.term_id = meter.source_id
      JOIN disputed ON disputed.wallet_id = COALESCE(prepaid.wallet_id, meter.payer_id)
          AND posting.created_at > disputed.since
      WHERE host.kind = 'host' AND host.owner_id = ANY(%(owners)s::uuid[])
      GROUP BY host.owner_id, disputed.wallet_id, disputed.amount) AS paid
GROUP BY owner_id
"""

_DUE = """
SELECT account.owner_id, GREATEST(account.minimum_micros, %(least)s)
FROM billing_payoutaccount account
JOIN billing_wallet wallet ON wallet.owner_id = account.owner_id AND wallet.kind = 'host'
WHERE account.automatic AND NOT account.frozen
  AND wallet.balance_micros >= GREATEST(account.minimum_micros, %(least)s)
  AND NOT EXISTS (
      SELECT FROM billing_payout payout
      WHERE payout.owner_id = account.owner_id
        AND (payout.state IN ('pending', 'sent')
             OR payout.created_at > CASE payout.state WHEN 'failed' THEN %(tried)s ELSE %(week_ago)s END))
"""


def payables_of(*, owner_ids: Sequence[UUID], now: datetime) -> dict[UUID, Payable]:
    """What can be paid out to each of these owners; who has earned nothing is left out."""
    owners, currency = list(owner_ids), str(settings.MARKET_CURRENCY)
    since = {"matured": now - PAYOUT_HOLDING, "reserved": now - PAYOUT_RESERVE_SPAN}
    found = {}
    for owner_id, balance, young, recent, under_way in rows(_PAYABLE, owners=owners, **since):
        found[owner_id] = Payable(currency, int(balance), int(young), int(recent), under_way_micros=int(under_way))
    for owner_id, micros in _disputed(list(found)):
        found[owner_id] = replace(found[owner_id], disputed_micros=int(micros))
    return found


def payable_of(*, owner_id: UUID, now: datetime) -> Payable:
    """One owner's; all zeros for who has earned nothing."""
    return payables_of(owner_ids=[owner_id], now=now).get(owner_id, Payable(str(settings.MARKET_CURRENCY)))


def due_owners(*, now: datetime) -> list[UUID]:
    """Owners whose weekly payout is due and comes to their minimum."""
    times = {"week_ago": now - PAYOUT_EVERY, "tried": now - PAYOUT_TRY_AGAIN}
    minimums = dict(rows(_DUE, least=PAYOUT_LEAST_MICROS, **times))
    payables = payables_of(owner_ids=list(minimums), now=now)
    return sorted(owner for owner, payable in payables.items() if payable.payable_micros >= minimums[owner])


def payouts_of(owner_id: UUID) -> QuerySet[Payout]:
    """The owner's payouts, newest first."""
    return Payout.objects.filter(owner_id=owner_id).order_by("-created_at", "-id")


def payout_of(*, owner_id: UUID, payout_id: UUID) -> Payout:
    """One of the owner's payouts; NotFound for everyone else's."""
    payout = payouts_of(owner_id).filter(pk=payout_id).first()
    if payout is None:
        raise NotFound("There is no such payout.")
    return payout


def payout_account_of(owner_id: UUID) -> PayoutAccount | None:
    return PayoutAccount.objects.filter(owner_id=owner_id).first()


def bank_batch(batch: str) -> list[Payout]:
    """The payouts of one bank export, in the order in which they were asked for."""
    payouts = list(Payout.objects.filter(batch=batch).order_by("created_at", "pk")) if batch else []
    if not payouts:
        raise NotFound("There is no such batch.")
    return payouts


def payouts_to_send() -> int:
    """How many wait for staff to take them to the bank."""
    return Payout.objects.filter(state=PayoutState.PENDING, method=PayoutMethod.BANK).count()


def _disputed(owner_ids: list[UUID]) -> list[tuple[Any, ...]]:
    disputes = rows(_OPEN_DISPUTES) if owner_ids else []
    if not disputes:
        return []
    renters, amounts, since = (list(column) for column in zip(*disputes, strict=True))
    return rows(_DISPUTED, owners=owner_ids, renters=renters, amounts=[int(each) for each in amounts], since=since)
