"""Authentication by bearer token (one query), or by session (with CSRF protection)."""

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.constants import TOKEN_MARK
from accounts.models import ApiToken, User
from accounts.selectors import live_token, token_credential
from accounts.tokens.services import record_use
from accounts.web.throttling import check_guesses, count_guess
from common.http.origin import record_credential

__all__ = ["SessionAuthentication", "TokenAuthentication"]

_SCHEME = "bearer"


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer berth_…`; `request.auth` is then the ApiToken."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        text = self.token_text(request)
        if text is None:
            return None
        check_guesses()
        token = live_token(text.strip())
        if token is None:
            count_guess()
            raise AuthenticationFailed("This token is unknown, revoked or expired.")
        record_use(token=token)
        record_credential(token_credential(token.pk), via=f"token {TOKEN_MARK}_{token.prefix}…")
        return token.user, token

    def token_text(self, request: Request) -> str | None:
        """Return the token that the request carries, or None."""
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        return text if scheme.lower() == _SCHEME else None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="berth"'
