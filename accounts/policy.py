"""Constants of accounts, with units: scopes, sizes, limits."""

from datetime import timedelta
from typing import Final

SCOPES: Final[dict[str, str]] = {
    "instances:read": "See instances and quotes",
    "instances:write": "Rent, stop, start and release instances",
    "billing:read": "See the wallet and the statement",
    "keys:read": "See SSH keys",
    "keys:write": "Add and remove SSH keys",
    "hosts:read": "See own hosts and earnings",
    "hosts:write": "Enrol hosts and set prices",
    "account:write": "Change the profile",
    "tokens:write": "See, create and revoke API tokens",
}
# A view that any signed-in user or live token may use declares this instead of a scope.
ANY_SCOPE: Final = ""

TOKEN_MARK: Final = "berth"  # noqa: S105  (the public part by which scanners know a token)
TOKEN_PREFIX_BYTES: Final = 6
TOKEN_SECRET_BYTES: Final = 32
MAX_LIVE_TOKENS: Final = 100
LAST_USED_PRECISION: Final = timedelta(seconds=60)

MAX_SSH_KEYS: Final = 100
MAX_SSH_KEY_CHARS: Final = 16_384
MIN_RSA_BITS: Final = 2048

MAX_IDEMPOTENCY_KEY_CHARS: Final = 200
