"""Reads of which accounts belong to one person, by cards and payout accounts, and of their debts.

A card is charged before it counts, and ties both its users. A payout account is only entered, and may be anybody's,
until a payout has arrived there or Stripe says that it is ready: then it is proven. A link has a direction: one
account *answers for* another's debts and rentals.

* Whoever has entered an account answers for everybody who has proven it. Two who have both proven it answer for
  each other.
* A link that staff have removed does not count.
* Of two who have only entered it, the later answers for the earlier, but only with orders and bids, never with
  earnings: otherwise whoever enters a stranger's account first could block that stranger's payout for good, and with
  it the proof.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from billing.ledger.raw_rows import planned_rows
from billing.models import AccountLink

_PROVEN = "own.kind = 'card' OR theirs.proven_at IS NOT NULL"
_BOTH = "own.kind = 'card' OR own.proven_at IS NOT NULL AND theirs.proven_at IS NOT NULL"
_TYPED_TOO = f"{_PROVEN} OR (own.proven_at IS NULL AND (theirs.seen_at, theirs.id) < (own.seen_at, own.id))"


def _chain(name: str, rule: str, *, frm: str = "own", to: str = "theirs") -> str:
    """Return SQL for all accounts that the account answers for, transitively.

    With `frm` and `to` exchanged: all that answer for it.
    """
    return f"""
{name} (owner_id) AS (
    SELECT unnest(%(owners)s::uuid[])
    UNION
    SELECT {to}.owner_id FROM {name}
    JOIN billing_tie {frm} ON {frm}.owner_id = {name}.owner_id AND {frm}.kind <> 'team' AND {frm}.removed_at IS NULL
    JOIN billing_tie {to} ON {to}.kind = {frm}.kind AND {to}.value = {frm}.value AND {to}.removed_at IS NULL
    WHERE {rule}
)"""  # noqa: S608  constants of this module


def _debt(rule: str) -> str:
    return f"""
WITH RECURSIVE {_chain("person", rule)}
SELECT COALESCE(sum(-balance_micros), 0) FROM billing_wallet
WHERE kind = 'debt' AND owner_id IN (SELECT owner_id FROM person)
"""  # noqa: S608  as above


_IDS = f"WITH RECURSIVE {_chain('person', _PROVEN)} SELECT owner_id FROM person"  # noqa: S608  as above
_SAME = f"WITH RECURSIVE {_chain('person', _BOTH)} SELECT owner_id FROM person"  # noqa: S608  as above
_LINKED = f"""
WITH RECURSIVE {_chain("ahead", _TYPED_TOO)}, {_chain("behind", _TYPED_TOO, frm="theirs", to="own")}
SELECT owner_id FROM ahead UNION SELECT owner_id FROM behind
"""  # noqa: S608  as above
_DEBT, _BLOCKING_DEBT = _debt(_PROVEN), _debt(_TYPED_TOO)


def person_of(owner_id: UUID) -> frozenset[UUID]:
    """Return the account and all others that it answers for with its earnings."""
    return frozenset(row[0] for row in _read(_IDS, owner_id))


def accounts_of_same(owner_ids: Iterable[UUID]) -> frozenset[UUID]:
    """Return these accounts and all that share a card or a payout account with them that both have proven.

    Nobody is included because of what somebody else has entered.
    """
    return frozenset(row[0] for row in planned_rows(_SAME, owners=list(owner_ids)))


def linked_accounts(owner_id: UUID) -> frozenset[UUID]:
    """Return the account, all that it answers for, and all that answer for it.

    This includes accounts that only entered its payout account.
    """
    return frozenset(row[0] for row in _read(_LINKED, owner_id))


def debt_of_person(owner_id: UUID) -> int:
    """Return what the account and all others that it answers for with its earnings owe."""
    return int(_read(_DEBT, owner_id)[0][0])


def blocking_debt_of(owner_id: UUID) -> int:
    """Return the debt that keeps the account from ordering.

    It includes what those owe who entered its payout account before it did.
    """
    return int(_read(_BLOCKING_DEBT, owner_id)[0][0])


def _read(query: str, owner_id: UUID) -> list[tuple[Any, ...]]:
    return planned_rows(query, owners=[owner_id])


def emails_sharing(link: AccountLink) -> list[str]:
    """Return mail addresses of the other accounts with the same evidence, in the order of first use."""
    others = AccountLink.objects.filter(kind=link.kind, value=link.value, removed_at=None).exclude(owner=link.owner_id)
    return list(others.order_by("seen_at").values_list("owner__email", flat=True))
