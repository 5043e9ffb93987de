"""Reads of teams' money: transfers and members' spending, for those who may see it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts.models import Membership, User
from accounts.selectors import members_of, team_of
from billing.constants import TRANSFER_SOURCE
from billing.ledger.raw_rows import rows
from billing.models import Posting

_SPENT = """
SELECT wallet.owner_id, COALESCE(-sum(entry.amount_micros), 0)::bigint
FROM billing_wallet wallet
JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind IN ('charge', 'refund', 'prepaid', 'exit_fee')
JOIN billing_posting posting ON posting.id = entry.posting_id
     AND posting.created_at >= %(since)s AND posting.created_at < %(until)s
WHERE wallet.kind = 'renter' AND wallet.owner_id = ANY(%(owners)s::uuid[])
GROUP BY wallet.owner_id
"""


@dataclass(frozen=True)
class Transfer:
    """Money that went from one member to another."""

    id: UUID
    amount_micros: int
    what: str
    at: datetime


@dataclass(frozen=True)
class MemberSpending:
    """What one member's wallet spent in a month; nothing else of theirs is visible."""

    member: Membership
    micros: int


def transfer_of(transfer_id: UUID) -> Transfer | None:
    posting = Posting.objects.filter(source_kind=TRANSFER_SOURCE, source_id=transfer_id).first()
    if posting is None:
        return None
    amount = max(posting.entries.values_list("amount_micros", flat=True))
    return Transfer(transfer_id, amount, posting.memo, posting.created_at)


def team_spending(viewer: User, team_id: UUID, *, since: datetime, until: datetime) -> list[MemberSpending]:
    """Return the spending of all members for an owner, and a member's own for a member.

    Raises:
        NotFound: the viewer is not in the team.
    """
    team = team_of(viewer, team_id)
    members = members_of(team.pk).filter(user__isnull=False)
    if team.role != Membership.Role.OWNER:  # type: ignore[attr-defined]  # annotated by teams_of
        members = members.filter(user=viewer)
    found = list(members)
    spent = dict(rows(_SPENT, owners=[member.user_id for member in found], since=since, until=until))
    return [MemberSpending(member, int(spent.get(member.user_id, 0))) for member in found]
