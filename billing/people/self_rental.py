"""Earnings of a host from its own owner, and from gifts to people close to them; neither is paid out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from accounts.selectors import teammates_of
from billing.ledger.promotional_selectors import gifts_to
from billing.ledger.raw_rows import rows
from billing.models import AccountLink, Wallet
from billing.people.selectors import accounts_of_same, person_of

Paid = Literal["all", "cash", "nothing"]

# A host's shares by the renter who paid them; for a prepaid term, which the market's escrow pays, by who prepaid it.
# In total, and the parts that are younger than two moments.
_SHARES = """
WITH payer AS (
    SELECT id, owner_id FROM billing_wallet WHERE kind = 'renter' AND owner_id = ANY(%(payers)s::uuid[])
), term AS (
    SELECT posting.source_id AS id, min(payer.owner_id::text)::uuid AS owner_id
    FROM payer JOIN billing_entry entry ON entry.wallet_id = payer.id AND entry.kind = 'prepaid' AND entry.amount_micros < 0
    JOIN billing_posting posting ON posting.id = entry.posting_id
    GROUP BY posting.source_id
), metered AS (
    SELECT meter.id, payer.owner_id FROM billing_meter meter JOIN payer ON payer.id = meter.payer_id
    WHERE meter.payee_id = %(host)s
    UNION ALL
    SELECT meter.id, term.owner_id FROM billing_meter meter
    JOIN billing_wallet escrow ON escrow.id = meter.payer_id AND escrow.kind = 'escrow'
    JOIN term ON meter.source_kind = 'term' AND term.id = meter.source_id
    WHERE meter.payee_id = %(host)s
), share AS (
    SELECT metered.owner_id, charge_micros - fee_micros AS micros, posting.created_at
    FROM metered JOIN billing_usage usage ON usage.meter_id = metered.id
    JOIN billing_posting posting ON posting.id = usage.posting_id
    UNION ALL
    SELECT COALESCE(payer.owner_id, term.owner_id), entry.amount_micros, posting.created_at
    FROM billing_entry entry
    JOIN billing_posting posting ON posting.id = entry.posting_id AND posting.kind <> 'usage'
    LEFT JOIN LATERAL (
        SELECT wallet.owner_id FROM billing_entry paid JOIN billing_wallet wallet ON wallet.id = paid.wallet_id
        WHERE paid.posting_id = posting.id AND wallet.kind IN ('renter', 'debt') LIMIT 1) AS payer ON true
    LEFT JOIN term ON posting.source_kind = 'term' AND term.id = posting.source_id
    WHERE entry.wallet_id = %(host)s AND entry.kind = 'host_share'
      AND COALESCE(payer.owner_id, term.owner_id) = ANY(%(payers)s::uuid[])
)
SELECT owner_id, sum(micros)::bigint, COALESCE(sum(micros) FILTER (WHERE created_at > %(reserved)s), 0)::bigint,
       COALESCE(sum(micros) FILTER (WHERE created_at > %(matured)s), 0)::bigint
FROM share GROUP BY owner_id
"""


@dataclass(frozen=True)
class UnpayableEarnings:
    """Part of a host's earnings that is never paid out.

    `wallets` are those of the same person, whose money never is.
    """

    micros: int = 0
    recent_micros: int = 0
    young_micros: int = 0
    wallets: frozenset[UUID] = frozenset()


def unpayable_earnings_of(*, owner_id: UUID, wallet_id: UUID, matured: datetime, reserved: datetime) -> UnpayableEarnings:
    """Return the part of a host's earnings that is never paid out.

    From the same person (the account, its cards and payout accounts, now or ever) it is everything. From anybody
    who is or was in one team with them while renting, it is at most what the market ever gave them in credit and
    coupons. Where it cannot be known which micro-unit of a wallet was a gift, or what ties two accounts only now,
    it decides against the payout.
    """
    person = person_of(owner_id)
    close = close_to(person)
    gifts = gifts_to(close)
    total = recent = young = 0
    shares = rows(_SHARES, payers=[*person, *close], host=wallet_id, matured=matured, reserved=reserved)
    for payer_id, *amounts in shares:
        most = None if payer_id in person else gifts.get(payer_id, 0)
        all_time, lately, just_now = (max(0, int(each) if most is None else min(int(each), most)) for each in amounts)
        total, recent, young = total + all_time, recent + lately, young + just_now
    own = Wallet.objects.filter(owner__in=person, kind=Wallet.Kind.RENTER).values_list("pk", flat=True)
    return UnpayableEarnings(total, recent, young, frozenset(own))


def payable_money_of(*, payer_id: UUID, owner_id: UUID) -> Paid:
    """Return which money of a renter the owner of hosts is paid.

    Nothing from accounts of their own, and only cash from people in a team with them.
    """
    person = person_of(owner_id)
    if payer_id in person:
        return "nothing"
    return "cash" if payer_id in close_to(person) else "all"


def close_to(person: frozenset[UUID]) -> frozenset[UUID]:
    """Return accounts that are in a team with the person, or were while renting from each other.

    All accounts of the person count.
    """
    return accounts_of_same(teammates_of(person) | _were_together(list(person))) - person


def _were_together(person: Sequence[UUID]) -> set[UUID]:
    links = AccountLink.objects.filter(kind=AccountLink.Kind.TEAM, removed_at=None)
    teams = links.filter(owner__in=person).values("value")
    return set(links.filter(value__in=teams).values_list("owner_id", flat=True))
