"""Records evidence that two accounts belong to one person."""

from uuid import UUID

from django.db.models import QuerySet

from accounts.selectors import shared_teams
from billing.models import AccountLink
from billing.models.payout_destinations import Destination
from billing.people.selectors import accounts_of_same
from common import clock
from common.db.transactions import use_case
from common.errors import NotFound, wrong_field


def record_card(*, owner_id: UUID, fingerprint: str) -> None:
    """Record a card's use, inside the caller's transaction.

    Stripe's fingerprint is empty at servers that only imitate Stripe.
    """
    _record(owner_id, AccountLink.Kind.CARD, fingerprint)


def record_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """Record that a user entered a payout account, inside the caller's transaction."""
    _record(owner_id, AccountLink.Kind.PAYOUT_ACCOUNT, destination.identity)


def prove_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """Record that the payout account is the user's.

    Their money has arrived there, or Stripe says that it can. Runs inside the caller's transaction.
    """
    record_payout_account(owner_id=owner_id, destination=destination)
    _claim(owner_id, destination).filter(proven_at=None).update(proven_at=clock.now())


def disprove_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """Remove the proof, since money sent there came back and nothing else of theirs has arrived."""
    _claim(owner_id, destination).update(proven_at=None)


def remove_link(*, link_id: int, reason: str, actor: str) -> AccountLink:
    """Make a link stop counting for good; the row stays, so that the same evidence does not create another.

    A removed payout account gets no more payouts of its user.

    Raises:
        NotFound: there is no such link.
        InvalidInput: no reason is given.
    """
    if not reason.strip():
        raise wrong_field("reason", "Enter a reason; it is recorded with your name.")
    with use_case():
        link = AccountLink.objects.select_for_update(of=("self",), no_key=True).filter(pk=link_id).first()
        if link is None:
            raise NotFound("This link doesn't exist.")
        if link.removed_at is None:
            link.removed_at, link.removed_by, link.removed_reason = clock.now(), actor, reason.strip()[:200]
            link.save(update_fields=["removed_at", "removed_by", "removed_reason"])
    return link


def is_removed(*, owner_id: UUID, destination: Destination) -> bool:
    """Return whether staff have found that this payout account is not the user's."""
    return _claim(owner_id, destination).filter(removed_at__isnull=False).exists()


def _claim(owner_id: UUID, destination: Destination) -> QuerySet[AccountLink]:
    return AccountLink.objects.filter(owner_id=owner_id, kind=AccountLink.Kind.PAYOUT_ACCOUNT, value=destination.identity)


def record_teams(*, payer_id: UUID, payee_id: UUID) -> None:
    """Record that a renter and the host's owner share a team when a run begins; later exits do not count.

    All their accounts are searched; the link is stored with those of this run. A host of one's own pays nothing
    out in any case.
    """
    payee = accounts_of_same([payee_id])
    if payer_id not in payee:
        for team_id in shared_teams(accounts_of_same([payer_id]), payee):
            for owner_id in (payer_id, payee_id):
                _record(owner_id, AccountLink.Kind.TEAM, team_id.hex)


def _record(owner_id: UUID, kind: str, value: str) -> None:
    if value:
        AccountLink.objects.bulk_create(
            [AccountLink(owner_id=owner_id, kind=kind, value=value[:200])], ignore_conflicts=True
        )
