"""Tables of accounts."""

from accounts.models.notifications import NotificationChannel, NotificationDelivery
from accounts.models.people import (
    ApiToken,
    Membership,
    RememberedReply,
    SshKey,
    Team,
    User,
    UserManager,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
)
from accounts.models.security import (
    AccountEvent,
    AccountSession,
    EndedCredential,
    InvitationMail,
    KnownDevice,
    OutgoingMail,
)

__all__ = [
    "AccountEvent",
    "AccountSession",
    "ApiToken",
    "EndedCredential",
    "InvitationMail",
    "KnownDevice",
    "Membership",
    "NotificationChannel",
    "NotificationDelivery",
    "OutgoingMail",
    "RememberedReply",
    "SshKey",
    "Team",
    "User",
    "UserManager",
    "Webhook",
    "WebhookDelivery",
    "WebhookEvent",
]
