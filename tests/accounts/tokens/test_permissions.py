"""HasScope: closed unless a view says what opens it."""

from typing import Any, ClassVar

import pytest
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from accounts.models import ApiToken, User
from accounts.tokens.services import issue_token


class Undeclared(APIView):
    """A view whose author forgot to say who may use it."""

    def get(self, request: Request) -> Response:
        return Response({"secret": 1})


class Declared(APIView):
    scopes: ClassVar = {"GET": "keys:read"}

    def get(self, request: Request) -> Response:
        return Response({"open": 1})

    def post(self, request: Request) -> Response:
        return Response({"forgotten": 1})


class Public(APIView):
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        return Response({"open": 1})


def ask(view: type[APIView], method: str = "get", user: User | None = None, token: ApiToken | None = None) -> Any:
    request = getattr(APIRequestFactory(), method)("/")
    if user is not None:
        force_authenticate(request, user=user, token=token)  # type: ignore[arg-type]  # the stubs know only DRF's own token
    return view.as_view()(request)


def test_a_view_without_scopes_is_closed_to_everyone(alice: User, stella: User) -> None:
    assert ask(Undeclared).status_code == 401
    assert ask(Undeclared, user=alice).status_code == 403
    assert ask(Undeclared, user=stella).status_code == 403


def test_a_method_without_a_scope_is_closed(alice: User) -> None:
    assert ask(Declared, "post", alice).status_code == 403


def test_a_method_that_the_view_lacks_is_405(alice: User) -> None:
    reply = ask(Declared, "put", alice)
    assert (reply.status_code, reply.data["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("method", ["get", "head"])
def test_tokens_need_the_scope_and_sessions_have_it(alice: User, method: str) -> None:
    with_scope, _ = issue_token(user=alice, name="x", scopes=["keys:read"])
    without, _ = issue_token(user=alice, name="x", scopes=["keys:write"])
    assert ask(Declared, method, alice).status_code == 200
    assert ask(Declared, method, alice, with_scope).status_code == 200
    assert ask(Declared, method, alice, without).status_code == 403
    assert ask(Declared, method).status_code == 401


def test_a_public_view_asks_nothing(db: None) -> None:
    assert ask(Public).status_code == 200
