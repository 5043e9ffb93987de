"""What the asker may do: a session everything of its own account, a token what its scopes name."""

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


def asker(request: Request) -> User:
    """Who asks, in a view that HasScope guards."""
    user = request.user
    assert isinstance(user, User)  # HasScope has refused everyone else
    return user


def asking_token(request: Request) -> ApiToken | None:
    """The token by which the request was made, or None for a session."""
    return request.auth if isinstance(request.auth, ApiToken) else None


def holds_scope(request: Request, scope: str) -> bool:
    """Whether who asks may do what the scope names: a session may everything."""
    token = asking_token(request)
    return token is None or scope in token.scopes


def require_scope(request: Request, scope: str) -> None:
    """Refuse a token without this scope, which an operation needs beside the one that its view declares.

    Raises MissingScope, which names it.
    """
    if not holds_scope(request, scope):
        raise MissingScope(f"This needs a token with the scope {scope}.", scope=scope)


def require_confirmation(request: Request) -> None:
    """Refuse who has not just given the password or second factor again. Raises ConfirmationNeeded.

    A token cannot: whoever has stolen one must not be able to do what this guards.
    """
    if asking_token(request) is not None or not did_recently_reauthenticate(request._request):
        raise ConfirmationNeeded


class HasScope(BasePermission):
    """Allows what the view's `scopes` (method → scope) grants; a view that declares none is closed to everyone."""

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
    """Open to everyone to read, else like HasScope. The view asks `reads_own` whether own things may be shown, too."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return request.method in ("GET", "HEAD") or super().has_permission(request, view)


def reads_own(request: Request, view: "APIView") -> User | None:
    """Who asks, if they may see their own things here."""
    try:
        return asker(request) if HasScope().has_permission(request, view) else None
    except MissingScope:
        return None
