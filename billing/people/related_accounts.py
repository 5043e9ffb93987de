"""Which accounts belong together: one person's, and those of the people who are or were in a team with that person."""

from uuid import UUID

from billing.people.selectors import linked_accounts, person_of
from billing.people.self_rental import close_to


def related_accounts(user_id: UUID) -> frozenset[UUID]:
    """The account itself, all others of the same person (by card or payout account), and the people close to them.

    Who typed the payout account counts too, but not their team: that would let them bar strangers.
    Who rented of each other in one team stays close after leaving it, as for payouts.
    """
    return linked_accounts(user_id) | close_to(person_of(user_id))
