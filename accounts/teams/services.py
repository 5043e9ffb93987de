"""Teams and their members.

The team's row is locked first, so that concurrent changes cannot remove its last owner.
"""

from uuid import UUID

from accounts.constants import MAX_TEAMS
from accounts.errors import AlreadyMember, LastOwner, TooMany
from accounts.event_log.services import record_event
from accounts.models import Membership, Team, User
from accounts.selectors import invitation_of, members_of, owned_team, team_of, teams_of
from common import clock
from common.db.transactions import use_case
from common.errors import Forbidden, NotFound

OWNER = Membership.Role.OWNER


def create_team(*, user: User, name: str) -> Team:
    """Create a team with the user as its owner.

    Raises:
        TooMany: the user is in too many teams.
    """
    with use_case():
        _check_room(user)
        team = Team.objects.create(name=name)
        Membership.objects.create(team=team, user=user, email=user.email, role=OWNER, joined_at=clock.now())
        record_event(user_id=user.pk, kind="team.created", subject=name)
    return team_of(user, team.pk)


def rename_team(*, user: User, team_id: UUID, name: str) -> Team:
    with use_case():
        team = lock_team(owned_team(user, team_id).pk)
        team.name = name
        team.save(update_fields=["name"])
    return team_of(user, team_id)


def delete_team(*, user: User, team_id: UUID) -> None:
    """Delete a team, as its owner.

    Raises:
        LastOwner: others are in the team.
    """
    with use_case():
        team = lock_team(owned_team(user, team_id).pk)
        if members_of(team.pk).filter(user__isnull=False).exclude(user=user).exists():
            raise LastOwner("The team still has other members; remove them first.")
        record_event(user_id=user.pk, kind="team.deleted", subject=team.name)
        team.delete()


def accept_invitation(*, user: User, secret: str) -> Team:
    """Join the team of an invitation.

    Raises:
        NotFound: the invitation is for another address.
        InvitationExpired: it is too old.
        AlreadyMember: the user is in the team.
        TooMany: the user is in too many teams.
    """
    with use_case():
        invitation = invitation_of(user, secret)
        lock_team(invitation.team_id)
        invitation = invitation_of(user, secret)
        if members_of(invitation.team_id).filter(user=user).exists():
            raise AlreadyMember
        _check_room(user)
        invitation.user, invitation.joined_at = user, clock.now()
        invitation.invite_hash, invitation.expires_at = "", None
        invitation.save()
        record_event(user_id=user.pk, kind="team.joined", subject=invitation.team.name)
    return team_of(user, invitation.team_id)


def set_role(*, user: User, team_id: UUID, member_id: UUID, role: str) -> Membership:
    """Set a member's role, as an owner.

    Raises:
        LastOwner: the team would have no owner.
    """
    with use_case():
        lock_team(owned_team(user, team_id).pk)
        member = _member(team_id, member_id)
        if role != OWNER:
            _check_not_last(member)
        member.role = role
        member.save(update_fields=["role"])
        if member.user_id is not None:
            record_event(user_id=member.user_id, kind="team.role", subject=f"{member.team.name}: {role}")
    return member


def remove_member(*, user: User, team_id: UUID, member_id: UUID) -> None:
    """Remove a member or invitation as an owner, or leave the team.

    Raises:
        Forbidden: the user is not an owner and removes somebody else.
        LastOwner: the team would have no owner.
    """
    with use_case():
        team = team_of(user, team_id)
        lock_team(team.pk)
        member = _member(team_id, member_id)
        if member.user_id != user.pk and team_of(user, team_id).role != OWNER:  # type: ignore[attr-defined]  # annotated
            raise Forbidden("Only an owner of the team can do this.")
        _check_not_last(member)
        if member.user_id is not None:
            record_event(user_id=member.user_id, kind="team.left", subject=team.name)
        member.delete()


def lock_team(team_id: UUID) -> Team:
    """Lock a team, as the first step of each use case that changes its members or invitations.

    Raises:
        NotFound: there is no such team.
    """
    team = Team.objects.select_for_update(of=("self",), no_key=True).filter(pk=team_id).order_by("pk").first()
    if team is None:
        raise NotFound("This team doesn't exist.")
    return team


def _member(team_id: UUID, member_id: UUID) -> Membership:
    member = members_of(team_id).filter(pk=member_id).first()
    if member is None:
        raise NotFound("This member doesn't exist.")
    return member


def _check_not_last(member: Membership) -> None:
    owners = members_of(member.team_id).filter(role=OWNER, user__isnull=False)
    if member.user_id is not None and member.role == OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _check_room(user: User) -> None:
    """Refuse one team too many.

    The user's row stays locked until the use case ends, so that two at once cannot pass the limit.
    """
    User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
    if teams_of(user).count() >= MAX_TEAMS:
        raise TooMany(f"A user can be in at most {MAX_TEAMS} teams.")
