"""Template context of the team page."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import QueryDict

from accounts.models import Membership, User
from accounts.selectors import members_of, team_of
from billing.ledger.selectors import wallet_of
from billing.transfers.selectors import team_spending
from billing.web.teams.forms import MoneyTransferForm
from common import clock
from common.ids import new_uuid


def team_context(viewer: User, team_id: UUID, span: tuple[datetime, datetime]) -> dict[str, Any]:
    """Return the context of the team page for this viewer.

    Raises:
        NotFound: the viewer is not in the team.
    """
    team = team_of(viewer, team_id)
    spending = team_spending(viewer, team_id, since=span[0], until=span[1])
    spent = {row.member.pk: row.micros for row in spending}
    members = [(member, spent.get(member.pk)) for member in members_of(team_id)]
    return {
        "team": team,
        "owns": team.role == Membership.Role.OWNER,  # type: ignore[attr-defined]  # annotated by teams_of
        "members": members,
        "spent_micros": sum(spent.values()),
        "month": span[0],
        "wallet": wallet_of(owner_id=viewer.pk, now=clock.now()),
        "sending": transfer_form(viewer, team_id, None),
        "secret": "",
        "refused": None,
    }


def transfer_form(viewer: User, team_id: UUID, sent: QueryDict | None) -> MoneyTransferForm:
    """Return the form for sending money to another member; its key makes a second click change nothing."""
    others = members_of(team_id).filter(user__isnull=False).exclude(user=viewer)
    receivers = [(str(member.user_id), f"{member.user} · {member.email}") for member in others]
    return MoneyTransferForm(sent, receivers=receivers, initial={"key": new_uuid()}, prefix="send")
