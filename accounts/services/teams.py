"""Teams: made, named, joined by invitation, left. The team's row is locked first, so that its last owner cannot slip out."""

import logging
import secrets
import smtplib
from functools import partial
from uuid import UUID

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.errors import AlreadyMember, LastOwner, TooMany
from accounts.models import Membership, Team, User
from accounts.policy import INVITATION_LIFETIME, INVITATION_SECRET_BYTES, MAX_TEAM_MEMBERS, MAX_TEAMS
from accounts.selectors import invitation_of, members_of, owned_team, team_of, teams_of
from common import clock
from common.database import use_case
from common.digest import secret_digest
from common.errors import Forbidden, NotFound

logger = logging.getLogger(__name__)
OWNER = Membership.Role.OWNER


def create_team(*, user: User, name: str) -> Team:
    """A new team with its maker as owner."""
    with use_case():
        _check_room(user)
        team = Team.objects.create(name=name)
        Membership.objects.create(team=team, user=user, email=user.email, role=OWNER, joined_at=clock.now())
    return team_of(user, team.pk)


def rename_team(*, user: User, team_id: UUID, name: str) -> Team:
    with use_case():
        team = _lock(owned_team(user, team_id).pk)
        team.name = name
        team.save(update_fields=["name"])
    return team_of(user, team_id)


def delete_team(*, user: User, team_id: UUID) -> None:
    """By its owner, when nobody else is in it."""
    with use_case():
        team = _lock(owned_team(user, team_id).pk)
        if members_of(team.pk).filter(user__isnull=False).exclude(user=user).exists():
            raise LastOwner("Others are in this team: remove them first.")
        team.delete()


def invite_member(*, user: User, team_id: UUID, email: str, role: str = Membership.Role.MEMBER) -> tuple[Membership, str]:
    """An invitation for this address alone, and its secret, which is kept nowhere. Invited anew, the old one is void."""
    secret = secrets.token_urlsafe(INVITATION_SECRET_BYTES)
    with use_case():
        team = _lock(owned_team(user, team_id).pk)
        member = members_of(team.pk).filter(email__iexact=email).first()
        if member is not None and member.user_id is not None:
            raise AlreadyMember
        if member is None:
            if members_of(team.pk).count() >= MAX_TEAM_MEMBERS:
                raise TooMany(f"A team has at most {MAX_TEAM_MEMBERS} members and invitations.")
            member = Membership(team=team, email=email.lower())
        member.role, member.invite_hash = role, secret_digest(secret)
        member.expires_at = clock.now() + INVITATION_LIFETIME
        member.save()
    return member, secret


def mail_invitation(*, user: User, member: Membership, secret: str) -> bool:
    """Write to the invited address, in the inviter's language. False when it could not be sent: the link is shown too."""
    facts = {"who": str(user), "team": member.team.name, "days": INVITATION_LIFETIME.days}
    address = settings.SITE_URL + reverse("team_join", args=[secret])
    sentences = [
        _("%(who)s invites you to the team %(team)s. Members rent with their own wallets and may pass money on.") % facts,
        _("To join, sign in or sign up with this very address and open the link within %(days)s days:") % facts,
        address,
    ]
    try:
        send_mail(_("Join the team %(team)s") % facts, "\n\n".join(sentences), None, [member.email])
    except (smtplib.SMTPException, OSError):
        logger.warning("the invitation %s was not mailed", member.pk, exc_info=True)
        return False
    return True


def mail_when_kept(*, user: User, member: Membership, secret: str) -> None:
    """Write once the transaction that made the invitation has committed; a rehearsal writes to nobody."""
    transaction.on_commit(partial(mail_invitation, user=user, member=member, secret=secret))


def accept_invitation(*, user: User, secret: str) -> Team:
    """The invited person joins. Raises NotFound for anyone else, InvitationExpired."""
    with use_case():
        invitation = invitation_of(user, secret)
        _lock(invitation.team_id)
        invitation = invitation_of(user, secret)
        if members_of(invitation.team_id).filter(user=user).exists():
            raise AlreadyMember
        _check_room(user)
        invitation.user, invitation.joined_at = user, clock.now()
        invitation.invite_hash, invitation.expires_at = "", None
        invitation.save()
    return team_of(user, invitation.team_id)


def set_role(*, user: User, team_id: UUID, member_id: UUID, role: str) -> Membership:
    """By an owner. Raises LastOwner."""
    with use_case():
        _lock(owned_team(user, team_id).pk)
        member = _member(team_id, member_id)
        if role != OWNER:
            _check_not_last(member)
        member.role = role
        member.save(update_fields=["role"])
    return member


def remove_member(*, user: User, team_id: UUID, member_id: UUID) -> None:
    """An owner removes anyone, and takes invitations back; everyone may leave. Raises LastOwner."""
    with use_case():
        team = team_of(user, team_id)
        _lock(team.pk)
        member = _member(team_id, member_id)
        if member.user_id != user.pk and team_of(user, team_id).role != OWNER:  # type: ignore[attr-defined]  # annotated
            raise Forbidden("Only an owner of the team can do this.")
        _check_not_last(member)
        member.delete()


def _lock(team_id: UUID) -> Team:
    team = Team.objects.select_for_update(of=("self",), no_key=True).filter(pk=team_id).order_by("pk").first()
    if team is None:
        raise NotFound("There is no such team.")
    return team


def _member(team_id: UUID, member_id: UUID) -> Membership:
    member = members_of(team_id).filter(pk=member_id).first()
    if member is None:
        raise NotFound("There is no such member.")
    return member


def _check_not_last(member: Membership) -> None:
    owners = members_of(member.team_id).filter(role=OWNER, user__isnull=False)
    if member.user_id is not None and member.role == OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _check_room(user: User) -> None:
    if teams_of(user).count() >= MAX_TEAMS:
        raise TooMany(f"One person is in at most {MAX_TEAMS} teams.")
