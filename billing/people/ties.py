"""Remembers what tells that two accounts belong to one person."""

from uuid import UUID

from django.db.models import QuerySet

from accounts.selectors import shared_teams
from billing.models import Tie
from billing.models.payout_destinations import Destination
from billing.people.selectors import accounts_of_same
from common import clock
from common.db.transactions import use_case
from common.errors import NotFound, wrong_field


def remember_card(*, owner_id: UUID, fingerprint: str) -> None:
    """Inside the caller's transaction; Stripe's fingerprint is empty at servers that only imitate it."""
    _remember(owner_id, Tie.Kind.CARD, fingerprint)


def remember_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """That somebody has typed it. Inside the caller's transaction, as all of these."""
    _remember(owner_id, Tie.Kind.PAYOUT_ACCOUNT, destination.identity)


def prove_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """That money of theirs has arrived there, or can by Stripe's word: from now on it is known to be theirs."""
    remember_payout_account(owner_id=owner_id, destination=destination)
    _claim(owner_id, destination).filter(proven_at=None).update(proven_at=clock.now())


def disprove_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """That what was sent there came back, and nothing else of theirs has arrived there."""
    _claim(owner_id, destination).update(proven_at=None)


def remove_tie(*, tie_id: int, reason: str, actor: str) -> Tie:
    """Let it count for nothing from now on, whatever the same evidence says later: the row stays, and nobody writes another.

    A payout account that was removed takes no more payouts of its user. Raises NotFound or InvalidInput.
    """
    if not reason.strip():
        raise wrong_field("reason", "Say why; it is kept with your name.")
    with use_case():
        tie = Tie.objects.select_for_update(of=("self",), no_key=True).filter(pk=tie_id).first()
        if tie is None:
            raise NotFound("There is no such tie.")
        if tie.removed_at is None:
            tie.removed_at, tie.removed_by, tie.removed_reason = clock.now(), actor, reason.strip()[:200]
            tie.save(update_fields=["removed_at", "removed_by", "removed_reason"])
    return tie


def is_removed(*, owner_id: UUID, destination: Destination) -> bool:
    """Whether staff have found that this payout account is not the user's."""
    return _claim(owner_id, destination).filter(removed_at__isnull=False).exists()


def _claim(owner_id: UUID, destination: Destination) -> QuerySet[Tie]:
    return Tie.objects.filter(owner_id=owner_id, kind=Tie.Kind.PAYOUT_ACCOUNT, value=destination.identity)


def remember_teams(*, payer_id: UUID, payee_id: UUID) -> None:
    """That a renter and the owner of the host are in one team when a run begins; leaving it later changes nothing.

    Under whichever account of theirs: the tie is kept with those of this run. One's own host pays nothing out anyway.
    """
    payee = accounts_of_same([payee_id])
    if payer_id not in payee:
        for team_id in shared_teams(accounts_of_same([payer_id]), payee):
            for owner_id in (payer_id, payee_id):
                _remember(owner_id, Tie.Kind.TEAM, team_id.hex)


def _remember(owner_id: UUID, kind: str, value: str) -> None:
    if value:
        Tie.objects.bulk_create([Tie(owner_id=owner_id, kind=kind, value=value[:200])], ignore_conflicts=True)
