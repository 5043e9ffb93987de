"""Reads of accounts: tokens by their text, and what belongs to a user."""

import hmac
import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from accounts.constants import DEVICE_KEPT, SESSION_IDLE, SESSION_LONGEST, TOKEN_MARK, TOKEN_PREFIX_BYTES, TOKEN_SECRET_BYTES
from accounts.errors import InvitationExpired
from accounts.models import (
    AccountEvent,
    AccountSession,
    ApiToken,
    KnownDevice,
    Membership,
    OutgoingMail,
    SshKey,
    Team,
    User,
    Webhook,
    WebhookDelivery,
)
from common import clock
from common.db.prepared import Prepared
from common.encryption import secret_digest
from common.errors import Forbidden, NotFound
from common.http.origin import origin
from common.ids import public_id

_TOKEN = re.compile(rf"{TOKEN_MARK}_([0-9a-f]{{{2 * TOKEN_PREFIX_BYTES}}})_([0-9a-f]{{{2 * TOKEN_SECRET_BYTES}}})")


def live_token(text: str) -> ApiToken | None:
    """Return the token with this text and its user, in one query.

    Returns None when it is revoked or expired, or the user is not active.
    """
    match = _TOKEN.fullmatch(text)
    if match is None:
        return None
    prefix, secret = match.groups()
    token = _TOKEN_WITH_USER.first(prefix=prefix)
    if token is None or not hmac.compare_digest(token.secret_hash, secret_digest(secret)):
        return None
    expired = token.expires_at is not None and token.expires_at <= clock.now()
    return None if token.revoked_at or expired or not token.user.is_active else token


_TOKEN_WITH_USER = Prepared(
    lambda prefix: ApiToken.objects.select_related("user").filter(prefix=prefix).order_by(), prefix=str
)


def acts_as_staff(user: User | AnonymousUser) -> bool:
    """Return whether the user is active staff with a second factor.

    The settings of a demo may waive the second factor.
    """
    if not (user.is_active and user.is_staff):
        return False
    return not settings.STAFF_SECOND_FACTOR or bool(is_mfa_enabled(user))


# -- credentials that tickets are bound to; common.revocation and the relay read these names


def token_credential(token_id: UUID) -> str:
    return f"t:{token_id.hex}"


def session_credential(session_key: str) -> str:
    """Return a session's name in tickets: a digest, since others than the browser see tickets."""
    return f"s:{secret_digest(session_key)[:32]}"


def access_credential(user: User) -> str:
    return f"u:{user.pk.hex}:{user.access_version}"


def ticket_credentials_of(user: User) -> list[str]:
    """Return the credentials that a ticket depends on: the account's version, and the session or token."""
    credential = origin().credential
    return [access_credential(user), *([credential] if credential else [])]


def id_of_address(email: str) -> UUID | None:
    """Return the id of the user with this address, if any."""
    return User.objects.filter(email__iexact=email).values_list("pk", flat=True).first()


def is_known_device(*, email: str, secret: str) -> bool:
    """Return whether somebody has logged in to this account in this browser."""
    since = clock.now() - DEVICE_KEPT
    mine = KnownDevice.objects.filter(secret_hash=secret_digest(secret), seen_at__gt=since, user__email__iexact=email)
    return bool(secret) and mine.exists()


def sessions_of(user: User) -> QuerySet[AccountSession]:
    """Return the user's live sessions, the last used first."""
    now = clock.now()
    used = AccountSession.objects.filter(user=user, seen_at__gt=now - SESSION_IDLE)
    return used.filter(created_at__gt=now - SESSION_LONGEST)


def events_of(user: User) -> QuerySet[AccountEvent]:
    """Return the account's events, newest first."""
    return AccountEvent.objects.filter(user=user)


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Return unrevoked tokens, newest first; expired ones are included so that they can be removed."""
    return ApiToken.objects.filter(user=user, revoked_at=None)


def token_of(user: User, token_id: UUID) -> ApiToken:
    token = tokens_of(user).filter(pk=token_id).first()
    if token is None:
        raise NotFound("This token doesn't exist.")
    return token


def all_ssh_keys_of(user: User) -> QuerySet[SshKey]:
    return SshKey.objects.filter(user=user)


_KEYS = Prepared(lambda user_id: SshKey.objects.filter(user_id=user_id), user_id=UUID)


def ssh_keys_of(user: User, ids: Sequence[UUID] | None) -> list[SshKey]:
    """Return the user's keys with these ids, in that order, or all when `ids` is None.

    Raises:
        NotFound: an id is not one of theirs.
    """
    if ids is None:
        return _KEYS.all(user_id=user.pk)
    if not ids:
        return []
    found = {key.pk: key for key in all_ssh_keys_of(user).filter(pk__in=ids)}
    missing = [public_id("key", pk) for pk in ids if pk not in found]
    if missing:
        raise NotFound(f"There is no SSH key {', '.join(missing)} in your account.")
    return [found[pk] for pk in dict.fromkeys(ids)]


# -- teams


def teams_of(user: User) -> QuerySet[Team]:
    """Return the teams that the user has joined, each with the user's `role`."""
    mine = Membership.objects.filter(team=OuterRef("pk"), user=user)
    return Team.objects.filter(memberships__user=user).annotate(role=Subquery(mine.values("role")[:1]))


def team_of(user: User, team_id: UUID) -> Team:
    """Return a team of the user.

    Raises:
        NotFound: the user is not in the team.
    """
    team = teams_of(user).filter(pk=team_id).first()
    if team is None:
        raise NotFound("This team doesn't exist.")
    return team


def owned_team(user: User, team_id: UUID) -> Team:
    """Return a team that the user owns.

    Raises:
        NotFound: the user is not in the team.
        Forbidden: the user does not own it.
    """
    team = team_of(user, team_id)
    if team.role != Membership.Role.OWNER:  # type: ignore[attr-defined]  # annotated by teams_of
        raise Forbidden("Only an owner of the team can do this.")
    return team


def owned_teams(user: User) -> QuerySet[Team]:
    return Team.objects.filter(memberships__user=user, memberships__role=Membership.Role.OWNER)


def members_of(team_id: UUID) -> QuerySet[Membership]:
    """Return members and invitations in the order in which they came."""
    return Membership.objects.filter(team_id=team_id).select_related("user")


def joined_member(team_id: UUID, user_id: UUID) -> Membership:
    """Return a member by user id.

    Raises:
        NotFound: the user has not joined the team.
    """
    member = members_of(team_id).filter(user_id=user_id).first()
    if member is None:
        raise NotFound("This member doesn't exist.")
    return member


def owned_team_member(owner: User, user_id: UUID) -> User:
    """Return a member of a team that the user owns.

    Raises:
        NotFound: there is no such member.
    """
    owned = Membership.objects.filter(user=owner, role=Membership.Role.OWNER).values("team")
    member = User.objects.filter(pk=user_id, memberships__team__in=owned).first()
    if member is None:
        raise NotFound("This person isn't a member of any of your teams.")
    return member


def owned_team_members(owner: User) -> QuerySet[User]:
    """Return all other members of the teams that the user owns."""
    owned = Membership.objects.filter(user=owner, role=Membership.Role.OWNER).values("team")
    return User.objects.filter(memberships__team__in=owned).exclude(pk=owner.pk).distinct().order_by("email")


def teammates_of(user_ids: Iterable[UUID]) -> set[UUID]:
    """Return everyone who is in a team with one of these users now, including themselves."""
    teams = Membership.objects.filter(user__in=list(user_ids)).values("team")
    found = Membership.objects.filter(team__in=teams, user__isnull=False).values_list("user_id", flat=True)
    return {user_id for user_id in found if user_id is not None}


def shared_teams(ones: Iterable[UUID], others: Iterable[UUID]) -> set[UUID]:
    """Return the teams with members from both groups."""
    theirs = Membership.objects.filter(user__in=list(others)).values("team")
    return set(Membership.objects.filter(user__in=list(ones), team__in=theirs).values_list("team_id", flat=True))


def owners_of_team(team_id: UUID) -> list[UUID]:
    owners = Membership.objects.filter(team_id=team_id, role=Membership.Role.OWNER, user__isnull=False)
    return list(owners.order_by().values_list("user_id", flat=True))


def invitation_of(user: User, secret: str) -> Membership:
    """Return the open invitation to this user's address.

    Raises:
        NotFound: it belongs to another address.
        InvitationExpired: it is too old.
    """
    open_ones = Membership.objects.select_related("team").filter(user=None, invite_hash=secret_digest(secret))
    invitation = open_ones.filter(email__iexact=user.email).first()
    if invitation is None:
        raise NotFound("No invitation for your address was found.")
    if invitation.expires_at is None or invitation.expires_at <= clock.now():
        raise InvitationExpired
    return invitation


def count_people() -> int:
    return User.objects.filter(is_active=True).count()


def count_mails() -> dict[str, int]:
    """Return the number of waiting mails, and of those given up in the last days."""
    waiting = Q(sent_at=None, given_up_at=None)
    return OutgoingMail.objects.aggregate(
        waiting=Count("pk", filter=waiting), given_up=Count("pk", filter=Q(given_up_at__isnull=False))
    )


# -- webhooks


def webhooks_of(user: User) -> QuerySet[Webhook]:
    return Webhook.objects.filter(user=user)


def webhook_of(user: User, webhook_id: UUID) -> Webhook:
    """Return a webhook of the user.

    Raises:
        NotFound: the user has no such webhook.
    """
    hook = webhooks_of(user).filter(pk=webhook_id).first()
    if hook is None:
        raise NotFound("This webhook doesn't exist.")
    return hook


def deliveries_of(webhook: Webhook) -> QuerySet[WebhookDelivery]:
    """Return the webhook's sent and waiting deliveries, newest first, each with its event."""
    return WebhookDelivery.objects.filter(webhook=webhook).select_related("event")


def delivery_of(user: User, webhook_id: UUID, delivery_id: UUID) -> WebhookDelivery:
    delivery = deliveries_of(webhook_of(user, webhook_id)).filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound("This delivery doesn't exist.")
    return delivery
