"""Constants of accounts, with units: scopes, sizes, limits."""

from datetime import timedelta
from typing import Final

SCOPES: Final[dict[str, str]] = {
    "instances:read": "See instances and quotes",
    "instances:write": "Rent, stop, start and release instances",
    "storage:read": "See volumes, snapshots and public data sets",
    "storage:write": "Make, attach, copy, restore and delete volumes and snapshots",
    "billing:read": "See the wallet and the statement",
    "billing:write": "Top up, redeem coupons, set limits and be paid out",
    "keys:read": "See SSH keys",
    "keys:write": "Add and remove SSH keys",
    "hosts:read": "See own hosts and earnings",
    "hosts:write": "Enrol hosts and set prices",
    "account:write": "Change the profile",
    "webhooks:read": "See webhooks and what was sent to them",
    "webhooks:write": "Add, change, test and remove webhooks",
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

INVITATION_LIFETIME: Final = timedelta(days=7)
INVITATION_SECRET_BYTES: Final = 24
MAX_TEAMS: Final = 20  # of one person
MAX_TEAM_MEMBERS: Final = 100  # invitations count

MAX_IDEMPOTENCY_KEY_CHARS: Final = 200

# What a person's programs can be told of. Anyone who emits another kind adds it here.
WEBHOOK_KINDS: Final = (
    "instance.started",
    "instance.stopped",
    "instance.failed",
    "instance.released",
    "instance.preempt_notice",
    "instance.schedule",
    "instance.release_warning",
    "storage.release_warning",
    "instance.archived",
    "instance.archive_failed",
    "sync.done",
    "sync.failed",
    "alert.raised",
    "alert.resolved",
    "webhook.test",
)
MAX_WEBHOOKS: Final = 10  # of one person
MAX_WEBHOOK_URL_CHARS: Final = 500
WEBHOOK_SECRET_BYTES: Final = 32
WEBHOOK_SECRET_MARK: Final = "whsec_"  # noqa: S105  (as https://www.standardwebhooks.com writes them)
WEBHOOK_FORMER_VALID: Final = timedelta(hours=24)
WEBHOOK_TIMEOUT_S: Final = 10.0
WEBHOOK_ANSWER_BYTES: Final = 300
# After the first, second, … attempt that failed; the last value goes on until the time is over.
WEBHOOK_WAITS: Final = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 900, 3600, 7200, 14_400, 28_800))
WEBHOOK_TRIED: Final = timedelta(hours=24)
WEBHOOK_PAUSED_AFTER: Final = timedelta(days=5)  # of nothing but failures
WEBHOOK_CLAIM: Final = timedelta(minutes=2)
WEBHOOK_BATCH: Final = 32
WEBHOOK_SENDERS: Final = 16
WEBHOOK_AT_ONCE: Final = 5  # of one webhook in one batch; of one that is failing, one
WEBHOOK_TRIES_KEPT: Final = 20
WEBHOOK_EVENTS_KEPT: Final = timedelta(days=30)
WEBHOOK_DROP_BATCH: Final = 5_000
