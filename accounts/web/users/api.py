"""API of a user's own data: profile, tokens, SSH keys."""

from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import ANY_SCOPE, CONNECT, SCOPES
from accounts.models import ApiToken, SshKey, User
from accounts.selectors import all_ssh_keys_of, ssh_keys_of, token_of, tokens_of
from accounts.ssh_keys.services import add_ssh_key, remove_ssh_key
from accounts.tokens.services import issue_token, revoke_token
from accounts.users.profile import edit_profile
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_token, current_user, require_scope
from common.http.fields import NameText
from common.http.views import PublicId, validated
from common.ids import parse_public_id


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library registers subclasses
    """Name of the bearer token in the OpenAPI document."""

    target_class = "accounts.web.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "berth_<prefix>_<secret>"}


class ProfileIn(serializers.Serializer[User]):
    """Fields of the profile that can be changed."""

    display_name = NameText(max_length=80, allow_blank=True, required=False)
    is_host_owner = serializers.BooleanField(required=False, help_text="true: shows the host panel")


class Profile(serializers.Serializer[User]):
    """The user who makes the request."""

    id = PublicId("user")
    email = serializers.EmailField(read_only=True)
    display_name = serializers.CharField(read_only=True)
    is_host_owner = serializers.BooleanField(read_only=True)
    date_joined = serializers.DateTimeField(read_only=True)


class Token(serializers.Serializer[ApiToken]):
    """A token without its text."""

    id = PublicId("tok")
    name = serializers.CharField(read_only=True)
    prefix = serializers.CharField(read_only=True, help_text="The token's text begins with berth_<prefix>_")
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    last_used_at = serializers.DateTimeField(read_only=True, allow_null=True)
    expires_at = serializers.DateTimeField(read_only=True, allow_null=True)


class NewToken(Token):
    """A token with its text, shown only once."""

    token = serializers.CharField(read_only=True, allow_null=True, help_text="null in a repeated response")


class TokenIn(serializers.Serializer[ApiToken]):
    """A token to create."""

    name = NameText(max_length=80)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=list(SCOPES)), allow_empty=False, max_length=50)
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)


class Key(serializers.Serializer[SshKey]):
    """An SSH public key."""

    id = PublicId("key")
    name = serializers.CharField(read_only=True)
    kind = serializers.CharField(read_only=True)
    public_key = serializers.CharField(read_only=True)
    fingerprint = serializers.CharField(read_only=True, help_text="As ssh-keygen -l prints it")
    created_at = serializers.DateTimeField(read_only=True)


class KeyIn(serializers.Serializer[SshKey]):
    """An SSH public key to add."""

    name = NameText(max_length=80, allow_blank=True, default="")
    public_key = serializers.CharField(help_text="One line of a .pub file", max_length=20_000)


class MeView(APIView):
    """Return or change the profile that the token or session belongs to."""

    scopes: ClassVar = {"GET": ANY_SCOPE, "PATCH": "account:write"}

    @extend_schema(operation_id="me", responses=Profile)
    def get(self, request: Request) -> Response:
        return Response(Profile(current_user(request)).data)

    @extend_schema(operation_id="me_update", request=ProfileIn, responses=Profile)
    def patch(self, request: Request) -> Response:
        wanted = validated(ProfileIn, request.data)
        return Response(Profile(edit_profile(user_id=current_user(request).pk, **wanted)).data)


class TokensView(ListAPIView[ApiToken]):
    """List the tokens of your account, or create one."""

    scopes: ClassVar = {"GET": "tokens:write", "POST": "tokens:write"}
    serializer_class = Token

    def get_queryset(self) -> Any:
        return tokens_of(current_user(self.request))

    @extend_schema(operation_id="tokens_create", request=TokenIn, responses={201: NewToken})
    def post(self, request: Request) -> Response:
        wanted = validated(TokenIn, request.data)

        def work() -> tuple[int, Any]:
            token, text = issue_token(user=current_user(request), issuer=current_token(request), **wanted)
            return 201, {**Token(token).data, "token": text}

        return idempotent_response(request, work, once=("token",))


class TokenView(APIView):
    """Return or revoke one token."""

    scopes: ClassVar = {"GET": "tokens:write", "DELETE": "tokens:write"}

    @extend_schema(operation_id="tokens_retrieve", responses=Token)
    def get(self, request: Request, token_id: str) -> Response:
        return Response(Token(token_of(current_user(request), parse_public_id("tok", token_id))).data)

    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, token_id: str) -> Response:
        revoke_token(user=current_user(request), token_id=parse_public_id("tok", token_id))
        return Response(status=204)


class SshKeysView(ListAPIView[SshKey]):
    """List the SSH keys of your account, or add one."""

    scopes: ClassVar = {"GET": "keys:read", "POST": "keys:write"}
    serializer_class = Key

    def get_queryset(self) -> Any:
        return all_ssh_keys_of(current_user(self.request))

    @extend_schema(operation_id="ssh_keys_create", request=KeyIn, responses={201: Key})
    def post(self, request: Request) -> Response:
        """Add an SSH key to your account.

        Also requires the scope `instances:connect`: the key gives access to every instance that accepts all
        keys of the account.
        """
        require_scope(request, CONNECT)
        wanted = validated(KeyIn, request.data)
        return idempotent_response(request, lambda: (201, Key(add_ssh_key(user=current_user(request), **wanted)).data))


class SshKeyView(APIView):
    """Return or remove one SSH key."""

    scopes: ClassVar = {"GET": "keys:read", "DELETE": "keys:write"}

    @extend_schema(operation_id="ssh_keys_retrieve", responses=Key)
    def get(self, request: Request, key_id: str) -> Response:
        return Response(Key(ssh_keys_of(current_user(request), [parse_public_id("key", key_id)])[0]).data)

    @extend_schema(operation_id="ssh_keys_delete", responses={204: None})
    def delete(self, request: Request, key_id: str) -> Response:
        remove_ssh_key(user=current_user(request), key_id=parse_public_id("key", key_id))
        return Response(status=204)
