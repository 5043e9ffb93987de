"""Which accounts are one person's, as far as cards and payout accounts tell, and what that person owes."""

from typing import Any
from uuid import UUID

from billing.selectors.rows import planned_rows

# Whoever has or had the same card, or is or was paid to the same account, and so on from there.
_PEOPLE = """
WITH RECURSIVE person (owner_id) AS (
    SELECT %(owner)s::uuid
    UNION
    SELECT shared.owner_id
    FROM person
    CROSS JOIN LATERAL (
        SELECT theirs.owner_id FROM billing_tie own
        JOIN billing_tie theirs ON theirs.kind = own.kind AND theirs.value = own.value
        WHERE own.owner_id = person.owner_id AND own.kind <> 'team'
        UNION ALL
        SELECT theirs.owner_id FROM billing_payoutaccount own
        JOIN billing_payoutaccount theirs ON theirs.method = own.method AND theirs.iban = own.iban
            AND theirs.bank = own.bank AND theirs.stripe_account_id = own.stripe_account_id
        WHERE own.owner_id = person.owner_id AND own.iban || own.stripe_account_id <> '') AS shared
)
"""
_IDS = f"{_PEOPLE} SELECT owner_id FROM person"  # noqa: S608  constants of this module
_DEBT = f"""{_PEOPLE}
SELECT COALESCE(sum(-balance_micros), 0) FROM billing_wallet
WHERE kind = 'debt' AND owner_id IN (SELECT owner_id FROM person)
"""  # noqa: S608  as above


def person_of(owner_id: UUID) -> frozenset[UUID]:
    """The account and all others of the same person."""
    return frozenset(row[0] for row in _read(_IDS, owner_id))


def debt_of_person(owner_id: UUID) -> int:
    """What the account and all others of the same person owe."""
    return int(_read(_DEBT, owner_id)[0][0])


def _read(query: str, owner_id: UUID) -> list[tuple[Any, ...]]:
    return planned_rows(query, owner=owner_id)
