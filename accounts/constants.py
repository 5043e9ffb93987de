"""Constants of accounts, with units: scopes, sizes, limits."""

from datetime import timedelta
from typing import Final

CONNECT: Final = "instances:connect"
SCOPES: Final[dict[str, str]] = {
    "instances:read": "See instances and quotes",
    "instances:write": "Rent, stop, start and release instances",
    CONNECT: "Connect to instances: terminal, files, tunnels, JupyterLab, passwords, SSH keys, ports",
    "storage:read": "See volumes, snapshots and public data sets",
    "storage:write": "Make, attach, copy, restore and delete volumes and snapshots",
    "billing:read": "See the wallet and the statement",
    "billing:write": "Top up, redeem coupons, set limits and be paid out",
    "keys:read": "See SSH keys",
    "keys:write": "Remove SSH keys; add them if it may also connect to instances",
    "hosts:read": "See own hosts and earnings",
    "hosts:write": "Enrol hosts and set prices",
    "account:read": "See the account's log",
    "account:write": "Change the profile",
    "webhooks:read": "See webhooks, notification channels and what was sent to them",
    "webhooks:write": "Add, change, test and remove webhooks and notification channels",
    "tokens:write": "See, create and revoke API tokens",
}
# The scope that a token needs for each method of the views of instances, and of volumes and snapshots.
INSTANCE_SCOPES: Final[dict[str, str]] = {
    "GET": "instances:read",
    "POST": "instances:write",
    "PATCH": "instances:write",
    "DELETE": "instances:write",
}
STORAGE_SCOPES: Final[dict[str, str]] = {"GET": "storage:read", "POST": "storage:write", "DELETE": "storage:write"}
# Declared in place of a scope by a view that any signed-in user or live token may use.
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
# The kinds of events in an account's log; their texts are in event_log/messages.py. A new kind is added in both.
EVENT_KINDS: Final = (
    "login",
    "login.new_device",
    "login.failed",
    "signup.again",
    "session.ended",
    "session.all_ended",
    "password.changed",
    "password.reset",
    "email.added",
    "email.changed",
    "email.removed",
    "factor.added",
    "factor.removed",
    "factor.failed",
    "token.created",
    "token.revoked",
    "token.all_revoked",
    "key.added",
    "key.removed",
    "webhook.added",
    "webhook.removed",
    "webhook.rotated",
    "channel.added",
    "channel.changed",
    "channel.removed",
    "channel.stopped",
    "profile.changed",
    "team.created",
    "team.deleted",
    "team.invited",
    "team.joined",
    "team.left",
    "team.role",
    "payout_account.changed",
    "payout.asked",
    "template.created",
    "template.version",
    "template.visibility",
    "template.link",
    "template.deleted",
    "template.approved",
    "template.rejected",
    "limit.set",
    "limit.changed",
    "limit.removed",
    "limit.auto_top_up",
)
# Mailed at once. For passwords, addresses and second factors, allauth sends its own mails.
MAILED_KINDS: Final = ("login.new_device", "token.created", "key.added", "payout_account.changed")
FORMER_ADDRESS_TOLD: Final = timedelta(days=30)  # mail goes to a replaced address too for this long

# A session ends when it was not used for this long, and at the latest this long after its log-in.
SESSION_IDLE: Final = timedelta(days=3)
SESSION_LONGEST: Final = timedelta(days=14)
SESSION_SEEN_PRECISION: Final = timedelta(seconds=60)
DEVICE_KEPT: Final = timedelta(days=365)
TICKETS_LAST: Final = timedelta(hours=13)  # longer than any ticket of the relay

# Wrong passwords: for one account from one network (or known device), from one network, for one account in all.
LOGIN_TRIES: Final = "5/5m/key"
LOGIN_TRIES_OF_NETWORK: Final = "20/m/key"
LOGIN_TRIES_FOR_ADDRESS: Final = "100/h/key"

# Mail: one pass sends this many, and starts no further one after this long.
MAIL_BATCH: Final = 100
MAIL_PASS_S: Final = 15.0
MAIL_TASK_S: Final = 45  # then the worker's process is ended
MAIL_CLAIM: Final = timedelta(seconds=60)  # longer, so that nobody sends a mail twice at once
# Delay after the first, second, … failed attempt; the last value repeats until the mail expires.
MAIL_WAITS: Final = tuple(timedelta(seconds=seconds) for seconds in (30, 120, 600, 1800, 3600, 7200, 14_400))
MAIL_REST: Final = timedelta(seconds=30)  # nothing is sent for this long after a failure of the server itself
MAIL_TRIED: Final = timedelta(days=3)  # unless the caller gives another time
MAIL_KEPT: Final = timedelta(days=7)  # without its body

# Limits of invitation mails, as (number, period): by one person, for one team, and to one address by anybody.
INVITATIONS_BY_SENDER: Final = ((20, timedelta(hours=1)), (50, timedelta(days=1)))
INVITATIONS_FOR_TEAM: Final = ((20, timedelta(hours=1)), (50, timedelta(days=1)))
INVITATIONS_TO_ADDRESS: Final = ((3, timedelta(hours=1)), (5, timedelta(days=1)))
INVITED_AGAIN_AFTER: Final = timedelta(minutes=15)  # the same address to the same team
INVITATION_MAILS_KEPT: Final = timedelta(days=1)
MAX_TEAMS: Final = 20  # of one person
MAX_TEAM_MEMBERS: Final = 100  # invitations count

MAX_IDEMPOTENCY_KEY_CHARS: Final = 200

# Kinds of events that webhooks deliver. A new kind is added here.
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
# Delay after the first, second, … failed attempt; the last value repeats until the retry period is over.
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

# Notification channels receive what webhooks do, and notices that otherwise only mail tells. A new kind is added here.
NOTICE_KINDS: Final = (
    "billing.balance_low",
    "billing.out_of_funds",
    "billing.budget",
    "billing.auto_top_up_failed",
    "waitlist.ended",
)
SENDS_PER_MINUTE: Final = 10  # tests and repeated notifications of one channel, whose address may be anybody's
REPEATED_AFTER: Final = timedelta(seconds=10)  # the same notification
CHANNEL_TEST: Final = "notification.test"
CHANNEL_KINDS: Final = (*(kind for kind in WEBHOOK_KINDS if kind != "webhook.test"), *NOTICE_KINDS)
MAX_CHANNELS: Final = 10  # of one person
MAX_CHANNEL_SECRET_CHARS: Final = 200
NOTIFICATION_TIMEOUT_S: Final = 10.0
NOTIFICATION_ANSWER_BYTES: Final = 4_000
# Delay after the first, second, … failed attempt; the last value repeats until the retry period is over.
NOTIFICATION_WAITS: Final = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 900, 1800, 3600, 7200, 14_400))
NOTIFICATION_TRIED: Final = timedelta(hours=24)
NOTIFICATION_LONGEST_REST: Final = timedelta(hours=1)  # however long a service asks us to wait
NOTIFICATION_REST: Final = timedelta(seconds=60)  # if it does not say how long
NOTIFICATION_CLAIM: Final = timedelta(minutes=2)  # longer than any attempt
NOTIFICATION_BATCH: Final = 32
NOTIFICATION_PASSES: Final = 20  # batches in one run of the sweep
NOTIFICATION_PASS_S: Final = 30.0  # no further batch is begun after this long
NOTIFICATION_SENDERS: Final = 16
NOTIFICATION_TRIES_KEPT: Final = 20
CHANNEL_STOPPED_AFTER_REFUSALS: Final = 3  # attempts in a row that the service refused for good
CHANNEL_STOPPED_AFTER: Final = timedelta(days=5)  # of nothing but failures
