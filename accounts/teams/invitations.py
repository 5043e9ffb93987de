"""Invitations to teams: created, mailed, and limited, since the sender chooses who gets the mail."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.constants import (
    INVITATION_LIFETIME,
    INVITATION_MAILS_KEPT,
    INVITATION_SECRET_BYTES,
    INVITATIONS_BY_SENDER,
    INVITATIONS_FOR_TEAM,
    INVITATIONS_TO_ADDRESS,
    INVITED_AGAIN_AFTER,
    MAX_TEAM_MEMBERS,
)
from accounts.errors import AlreadyMember, InvitedLately, TooMany, TooManyInvitations
from accounts.event_log.services import record_event
from accounts.mail.outbox import queue_mail
from accounts.models import InvitationMail, Membership, User
from accounts.selectors import members_of, owned_team
from accounts.teams.services import lock_team
from common import clock
from common.db.transactions import use_case
from common.email_addresses import parse_email
from common.encryption import secret_digest
from common.mail import name_in_mail

Limits = Sequence[tuple[int, timedelta]]


def invite_member(*, user: User, team_id: UUID, email: str, role: str = Membership.Role.MEMBER) -> tuple[Membership, str]:
    """Create an invitation for this address, mail it, and return it with its secret.

    The secret is stored until the mail was sent. A new invitation replaces an old one. It counts as one mail,
    whether that arrives or not.

    Raises:
        InvitedLately: the address was invited to the team a moment ago.
        TooManyInvitations: a limit of invitation mails is reached.
        AlreadyMember: the person is in the team.
        TooMany: the team is full.
        InvalidInput: the address is not valid.
    """
    email = parse_email(email)
    secret, now = secrets.token_urlsafe(INVITATION_SECRET_BYTES), clock.now()
    with use_case():
        team = lock_team(owned_team(user, team_id).pk)
        member = members_of(team.pk).filter(email__iexact=email).first()
        if member is not None and member.user_id is not None:
            raise AlreadyMember
        if member is None:
            if members_of(team.pk).count() >= MAX_TEAM_MEMBERS:
                raise TooMany(f"A team has at most {MAX_TEAM_MEMBERS} members and invitations.")
            member = Membership(team=team, email=email)
        _count_mail(sender=user, team_id=team.pk, email=email, now=now)
        member.role, member.invite_hash = role, secret_digest(secret)
        member.expires_at = now + INVITATION_LIFETIME
        member.save()
        record_event(user_id=user.pk, kind="team.invited", subject=f"{team.name}: {member.email}")
        _queue_mail(user, member, secret)
    return member, secret


def delete_old_invitation_mails(*, now: datetime) -> int:
    """Delete rows that no limit counts any more, and return how many."""
    with use_case():
        dropped, _rows = InvitationMail.objects.filter(at__lt=now - INVITATION_MAILS_KEPT).delete()
    return dropped


def _count_mail(*, sender: User, team_id: UUID, email: str, now: datetime) -> None:
    """Record one more mail, unless a limit is reached.

    The caller has locked the team; this locks the sender's row and the address.
    """
    User.objects.select_for_update(of=("self",), no_key=True).get(pk=sender.pk)
    with connection.cursor() as cursor:  # two teams that invite the same address wait here
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"invitation:{email}"])
    _refuse_again(Q(team_id=team_id, email=email), now)
    _refuse_beyond(INVITATIONS_BY_SENDER, Q(sender_id=sender.pk), now)
    _refuse_beyond(INVITATIONS_FOR_TEAM, Q(team_id=team_id), now)
    _refuse_beyond(INVITATIONS_TO_ADDRESS, Q(email=email), now)
    InvitationMail.objects.create(sender_id=sender.pk, team_id=team_id, email=email, at=now)


def _queue_mail(user: User, member: Membership, secret: str) -> None:
    """Queue the mail to the invited address, in the inviter's language.

    The mail is the market's, so it quotes little from the sender: their address, which they have verified, and
    the team's name without anything that a mail program could turn into a link.
    """
    facts = {"who": user.email, "team": name_in_mail(member.team.name), "days": INVITATION_LIFETIME.days}
    sentences = [
        _(
            "%(who)s has invited you to the team “%(team)s”. Members rent with their own wallets and can transfer funds to "
            "each other."
        )
        % facts,
        _("To join, sign in or sign up with this email address and open the link within %(days)s days:") % facts,
        settings.SITE_URL + reverse("team_join", args=[secret]),
        _("If you don't know the sender, ignore this email. No one else can use this link."),
    ]
    queue_mail(to=member.email, subject=_("Invitation to join a team"), body="\n\n".join(sentences))


def _refuse_again(same: Q, now: datetime) -> None:
    last = InvitationMail.objects.filter(same, at__gt=now - INVITED_AGAIN_AFTER).order_by("-at").first()
    if last is not None:
        raise InvitedLately(wait=(last.at + INVITED_AGAIN_AFTER - now).total_seconds())


def _refuse_beyond(limits: Limits, whose: Q, now: datetime) -> None:
    for most, within in limits:
        sent = InvitationMail.objects.filter(whose, at__gt=now - within).order_by("-at").values_list("at", flat=True)
        oldest = list(sent[most - 1 : most])
        if oldest:
            raise TooManyInvitations(wait=(oldest[0] + within - now).total_seconds())
