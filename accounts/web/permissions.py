"""Permissions: a session may do everything with its own account, a token what its scopes allow."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.constants import ANY_SCOPE
from accounts.errors import ConfirmationNeeded, MissingScope
from accounts.models import ApiToken, User

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module through its defaults


def current_user(request: Request) -> User:
    """Return the user of a request that HasScope has admitted."""
    user = request.user
    assert isinstance(user, User)  # HasScope has refused everyone else
    return user


def current_token(request: Request) -> ApiToken | None:
    """Return the token of the request, or None for a session."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def holds_scope(request: Request, scope: str) -> bool:
    """Return whether the request has the scope; sessions have all of them."""
    token = current_token(request)
    return token is None or scope in token.scopes


def require_scope(request: Request, scope: str) -> None:
    """Refuse a token without this scope, which an operation needs besides the one that its view declares.

    Raises:
        MissingScope: the token lacks the scope; the error names it.
    """
    if not holds_scope(request, scope):
        raise MissingScope(f"This requires a token with the scope {scope}.", scope=scope)


def require_confirmation(request: Request) -> None:
    """Refuse a request without a recent confirmation of the password or second factor.

    A token can never confirm: whoever has stolen one must not be able to do what this guards.

    Raises:
        ConfirmationNeeded: there is no recent confirmation.
    """
    if current_token(request) is not None or not did_recently_reauthenticate(request._request):
        raise ConfirmationNeeded


class HasScope(BasePermission):
    """Allow what the view's `scopes` (method → scope) grant; a view that declares none is closed to all."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        scopes: Mapping[str, str] | None = getattr(view, "scopes", None)
        if scopes is None or not (request.user and request.user.is_authenticated):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if not hasattr(view, method.lower()):
            return True  # the view itself answers 405
        needed = scopes.get(method)
        if needed is None:
            return False
        if needed != ANY_SCOPE:
            require_scope(request, needed)
        return True


class PublicToRead(HasScope):
    """Allow everyone to read, and everything else like HasScope.

    The view calls `user_with_own_data` to find out whether it may also show private data.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return request.method in ("GET", "HEAD") or super().has_permission(request, view)


def user_with_own_data(request: Request, view: "APIView") -> User | None:
    """Return the requesting user, if they may see their own data here."""
    try:
        return current_user(request) if HasScope().has_permission(request, view) else None
    except MissingScope:
        return None
