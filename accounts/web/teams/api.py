"""API of teams: members, roles, invitations."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import ANY_SCOPE
from accounts.models import Membership, Team
from accounts.selectors import members_of, team_of, teams_of
from accounts.teams import invitations, services
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.email_addresses import EmailText
from common.http.fields import NameText
from common.http.views import PublicId, validated
from common.ids import parse_public_id, public_id


class TeamIn(serializers.Serializer[Team]):
    """Name of a team."""

    name = NameText(max_length=80)


class InviteIn(serializers.Serializer[Membership]):
    """Address to invite, and role."""

    email = EmailText()
    role = serializers.ChoiceField(choices=Membership.Role.choices, default=Membership.Role.MEMBER)


class RoleIn(serializers.Serializer[Membership]):
    """Role of a member."""

    role = serializers.ChoiceField(choices=Membership.Role.choices)


class JoinIn(serializers.Serializer[Membership]):
    """Secret of an invitation: the last part of its link."""

    secret = serializers.CharField(max_length=200)


class TeamOut(serializers.Serializer[Team]):
    """A team, with your role in it."""

    id = PublicId("team")
    name = serializers.CharField(read_only=True)
    role = serializers.ChoiceField(choices=Membership.Role.choices, read_only=True)
    created_at = serializers.DateTimeField(read_only=True)


class MemberOut(serializers.Serializer[Membership]):
    """A member of a team, or an open invitation, valid until `expires_at`."""

    id = PublicId("memb")
    user_id = serializers.SerializerMethodField(help_text="null until the invitation is accepted")
    name = serializers.SerializerMethodField()
    email = serializers.EmailField(read_only=True)
    role = serializers.ChoiceField(choices=Membership.Role.choices, read_only=True)
    joined_at = serializers.DateTimeField(read_only=True, allow_null=True)
    expires_at = serializers.DateTimeField(read_only=True, allow_null=True)

    def get_user_id(self, member: Membership) -> str | None:
        return None if member.user_id is None else public_id("user", member.user_id)

    def get_name(self, member: Membership) -> str:
        return "" if member.user is None else member.user.display_name


class InvitationOut(MemberOut):
    """An invitation with its secret, shown only once; it is also sent by email."""

    secret = serializers.CharField(read_only=True, allow_null=True, help_text="null in a repeated response")


class TeamsView(ListAPIView[Team]):
    """List the teams that you are in, or create one."""

    scopes: ClassVar = {"GET": ANY_SCOPE, "POST": "account:write"}
    serializer_class = TeamOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return teams_of(current_user(self.request))

    @extend_schema(operation_id="teams_create", request=TeamIn, responses={201: TeamOut})
    def post(self, request: Request) -> Response:
        wanted = validated(TeamIn, request.data)
        return idempotent_response(
            request, lambda: (201, TeamOut(services.create_team(user=current_user(request), **wanted)).data)
        )


class TeamView(APIView):
    """Return, rename or delete one team."""

    scopes: ClassVar = {"GET": ANY_SCOPE, "PATCH": "account:write", "DELETE": "account:write"}

    @extend_schema(operation_id="teams_retrieve", responses=TeamOut)
    def get(self, request: Request, team_id: str) -> Response:
        return Response(TeamOut(team_of(current_user(request), _team(team_id))).data)

    @extend_schema(operation_id="teams_rename", request=TeamIn, responses=TeamOut)
    def patch(self, request: Request, team_id: str) -> Response:
        wanted = validated(TeamIn, request.data)
        return Response(TeamOut(services.rename_team(user=current_user(request), team_id=_team(team_id), **wanted)).data)

    @extend_schema(operation_id="teams_delete", responses={204: None})
    def delete(self, request: Request, team_id: str) -> Response:
        services.delete_team(user=current_user(request), team_id=_team(team_id))
        return Response(status=204)


class TeamMembersView(ListAPIView[Membership]):
    """List members and invitations of a team, or invite someone."""

    scopes: ClassVar = {"GET": ANY_SCOPE, "POST": "account:write"}
    serializer_class = MemberOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return members_of(team_of(current_user(self.request), _team(self.kwargs["team_id"])).pk)

    @extend_schema(operation_id="teams_invite", request=InviteIn, responses={201: InvitationOut})
    def post(self, request: Request, team_id: str) -> Response:
        wanted = validated(InviteIn, request.data)

        def work() -> tuple[int, Any]:
            member, secret = invitations.invite_member(user=current_user(request), team_id=_team(team_id), **wanted)
            return 201, {**MemberOut(member).data, "secret": secret}

        return idempotent_response(request, work, once=("secret",))


class TeamMemberView(APIView):
    """Set the role of a member or remove one; members can always remove themselves."""

    scopes: ClassVar = {"PATCH": "account:write", "DELETE": "account:write"}

    @extend_schema(operation_id="teams_set_role", request=RoleIn, responses=MemberOut)
    def patch(self, request: Request, team_id: str, member_id: str) -> Response:
        role, place = validated(RoleIn, request.data)["role"], parse_public_id("memb", member_id)
        member = services.set_role(user=current_user(request), team_id=_team(team_id), member_id=place, role=role)
        return Response(MemberOut(member).data)

    @extend_schema(operation_id="teams_remove_member", responses={204: None})
    def delete(self, request: Request, team_id: str, member_id: str) -> Response:
        place = parse_public_id("memb", member_id)
        services.remove_member(user=current_user(request), team_id=_team(team_id), member_id=place)
        return Response(status=204)


class TeamJoinView(APIView):
    """Accept an invitation to your own address."""

    scopes: ClassVar = {"POST": "account:write"}

    @extend_schema(operation_id="teams_join", request=JoinIn, responses={201: TeamOut})
    def post(self, request: Request) -> Response:
        secret = validated(JoinIn, request.data)["secret"]
        return idempotent_response(
            request, lambda: (201, TeamOut(services.accept_invitation(user=current_user(request), secret=secret)).data)
        )


def _team(text: str) -> Any:
    return parse_public_id("team", text)
