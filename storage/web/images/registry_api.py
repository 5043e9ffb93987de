"""Token endpoint to which the market's own registry refers container engines."""

import base64
import binascii

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET

from common.errors import DomainError
from storage.images.registry_tokens import issue_registry_token


@require_GET
def registry_token(request: HttpRequest) -> JsonResponse:
    """Issue a token by the token protocol of the CNCF distribution project.

    Errors have that protocol's format, and are no problem documents.
    """
    username, password = _login(request.headers.get("Authorization", ""))
    scopes = [part for text in request.GET.getlist("scope") for part in text.split(" ") if part]
    try:
        return JsonResponse(issue_registry_token(username=username, password=password, scopes=scopes))
    except DomainError as error:
        status = 401 if error.code == "registry_login_refused" else error.status
        return JsonResponse({"errors": [{"code": "DENIED", "message": error.detail}]}, status=status)


def _login(header: str) -> tuple[str, str]:
    kind, _, rest = header.partition(" ")
    try:
        username, _, password = base64.b64decode(rest, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return (username, password) if kind.lower() == "basic" else ("", "")
