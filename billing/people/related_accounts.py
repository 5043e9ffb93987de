"""Accounts of one person, and of people who are or were in a team with that person."""

from uuid import UUID

from billing.people.selectors import linked_accounts, person_of
from billing.people.self_rental import close_to


def related_accounts(user_id: UUID) -> frozenset[UUID]:
    """Return the account, other accounts of the same person (by card or payout account), and close people.

    Accounts that only entered the same payout account count too, but not their teams: that would let them bar
    strangers. Renters who rented from each other within one team stay close after leaving it, as for payouts.
    """
    return linked_accounts(user_id) | close_to(person_of(user_id))
