"""Remembers what tells that two accounts belong to one person."""

from uuid import UUID

from accounts.selectors import shared_teams
from billing.models import Tie
from billing.payout_destinations import Destination


def remember_card(*, owner_id: UUID, fingerprint: str) -> None:
    """Inside the caller's transaction; Stripe's fingerprint is empty at servers that only imitate it."""
    _remember(owner_id, Tie.Kind.CARD, fingerprint)


def remember_payout_account(*, owner_id: UUID, destination: Destination) -> None:
    """A plain account number means something only together with its bank."""
    number = destination.stripe_account_id or f"{destination.iban} {destination.bank}".strip()
    _remember(owner_id, Tie.Kind.PAYOUT_ACCOUNT, number)


def remember_teams(*, payer_id: UUID, payee_id: UUID) -> None:
    """That a renter and the owner of the host are in one team when a run begins; leaving it later changes nothing."""
    if payer_id != payee_id:
        for team_id in shared_teams(payer_id, payee_id):
            for owner_id in (payer_id, payee_id):
                _remember(owner_id, Tie.Kind.TEAM, team_id.hex)


def _remember(owner_id: UUID, kind: str, value: str) -> None:
    if value:
        Tie.objects.bulk_create([Tie(owner_id=owner_id, kind=kind, value=value[:200])], ignore_conflicts=True)
