"""Remembers what tells that two accounts belong to one person."""

from uuid import UUID

from django.db.models import QuerySet

from accounts.selectors import shared_teams
from billing.models import Tie
from billing.payout_destinations import Destination
from common import clock


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


def _claim(owner_id: UUID, destination: Destination) -> QuerySet[Tie]:
    return Tie.objects.filter(owner_id=owner_id, kind=Tie.Kind.PAYOUT_ACCOUNT, value=destination.identity)


def remember_teams(*, payer_id: UUID, payee_id: UUID) -> None:
    """That a renter and the owner of the host are in one team when a run begins; leaving it later changes nothing."""
    if payer_id != payee_id:
        for team_id in shared_teams(payer_id, payee_id):
            for owner_id in (payer_id, payee_id):
                _remember(owner_id, Tie.Kind.TEAM, team_id.hex)


def _remember(owner_id: UUID, kind: str, value: str) -> None:
    if value:
        Tie.objects.bulk_create([Tie(owner_id=owner_id, kind=kind, value=value[:200])], ignore_conflicts=True)
