"""Users and what belongs to them: tokens, SSH keys, teams, webhooks, stored responses."""

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from common import clock
from common.email_addresses import parse_email
from common.ids import new_uuid
from common.printable import Printable, PrintableField


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        user = self.model(email=parse_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str, **fields: object) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """User; `is_host_owner` opens the host panel, `is_staff` with `is_superuser` the staff panel."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    email = models.EmailField(_("email address"), unique=True)
    display_name = PrintableField(_("name"), max_length=80, blank=True)
    is_host_owner = models.BooleanField(_("host owner"), default=False)
    is_staff = models.BooleanField(_("staff"), default=False)
    is_active = models.BooleanField(_("active"), default=True)
    language = models.CharField(
        _("language"), max_length=10, default="en", help_text="Of the last page that they read: mail is written in it."
    )
    date_joined = models.DateTimeField(_("joined"), default=clock.now)
    access_version = models.PositiveIntegerField(
        _("access version"),
        default=0,
        db_default=0,
        help_text="Sessions and tickets of an earlier one are refused: raised by logging out everywhere.",
    )

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints: ClassVar = [
            Printable(column="display_name", name="user_display_name_is_printable"),
            models.UniqueConstraint(Lower("email"), name="one_user_per_email"),
        ]

    def __str__(self) -> str:
        return self.display_name or self.email

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return the hash stored in each session.

        Sessions with another password or an earlier access version have ended.
        """
        return f"{super()._get_session_auth_hash(secret=secret)}:{self.access_version}"  # type: ignore[misc]  # not in the stubs


class ApiToken(models.Model):
    """Bearer token; only `prefix` and the SHA-256 of the secret are stored, and the token is shown once."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens", verbose_name=_("account"))
    name = PrintableField(_("name"), max_length=80)
    prefix = models.CharField(_("prefix"), max_length=16, unique=True)
    secret_hash = models.CharField(_("hash of the secret"), max_length=64)
    scopes = ArrayField(models.CharField(max_length=32), verbose_name=_("scopes"))
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            Printable(column="name", name="api_token_name_is_printable"),
            models.CheckConstraint(condition=Q(secret_hash__regex=r"^[0-9a-f]{64}$"), name="token_hash_is_sha256"),  # noqa: S106 a pattern, no password
            models.CheckConstraint(condition=Q(scopes__len__gt=0), name="token_has_scopes"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SshKey(models.Model):
    """A renter's public key, parsed when saved; `fingerprint` has OpenSSH's form SHA256:…."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="ssh_keys", verbose_name=_("account"))
    name = PrintableField(_("name"), max_length=80)
    kind = models.CharField(_("kind"), max_length=40)
    public_key = models.TextField(_("public key"))
    fingerprint = models.CharField(_("fingerprint"), max_length=64)
    created_at = models.DateTimeField(_("created at"), default=clock.now)

    class Meta:
        verbose_name = _("SSH key")
        verbose_name_plural = _("SSH keys")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            Printable(column="name", name="ssh_key_name_is_printable"),
            models.UniqueConstraint(fields=["user", "fingerprint"], name="one_ssh_key_per_user"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.fingerprint})"


class Team(models.Model):
    """Users who share money and see each other's spending; every member rents with a wallet of their own."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    name = PrintableField(_("name"), max_length=80)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            Printable(column="name", name="team_name_is_printable"),
        ]
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Membership in a team; without a user it is an invitation to `email`, valid until `expires_at`."""

    class Role(models.TextChoices):
        OWNER = "owner", _("owner")
        MEMBER = "member", _("member")

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships", null=True, blank=True)
    email = models.EmailField(_("email address"))
    role = models.CharField(_("role"), max_length=6, choices=Role, default=Role.MEMBER)
    invite_hash = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the invitation's secret.")
    expires_at = models.DateTimeField(null=True, blank=True)
    joined_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("created_at", "id")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["team", "user"], condition=Q(user__isnull=False), name="one_membership_per_user"
            ),
            models.UniqueConstraint("team", Lower("email"), name="one_membership_per_email"),
            models.CheckConstraint(
                condition=Q(user__isnull=True, joined_at__isnull=True) | Q(user__isnull=False, joined_at__isnull=False),
                name="member_has_joined",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} in {self.team_id}"


class Webhook(models.Model):
    """Address of a user's own program that receives events.

    Secrets are encrypted; each message is signed with them. After a rotation, messages have a second signature by
    the former secret, until `former_until`.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(_("address"), max_length=500)
    description = PrintableField(_("description"), max_length=120, blank=True)
    kinds = ArrayField(models.CharField(max_length=40), default=list, blank=True, help_text="Empty: every kind.")
    sealed_secret = models.TextField()
    sealed_former = models.TextField(blank=True, default="")
    former_until = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(
        null=True, blank=True, help_text="Of the first attempt that failed since one succeeded."
    )
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            Printable(column="description", name="webhook_description_is_printable"),
        ]
        ordering = ("-created_at", "-id")
        indexes: ClassVar = [models.Index(fields=["user"], condition=Q(paused_at__isnull=True), name="webhook_live")]

    def __str__(self) -> str:
        return self.url


class WebhookEvent(models.Model):
    """Event as delivered to programs, written in the transaction in which it happened."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=40)
    payload = models.JSONField()
    at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-at", "-id")
        indexes: ClassVar = [models.Index(fields=["at"], name="webhook_event_age")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class WebhookDelivery(models.Model):
    """Delivery of one event to one webhook.

    `due_at` is the next attempt; null once it was delivered or given up.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(WebhookEvent, on_delete=models.CASCADE, related_name="deliveries")
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True, blank=True, default=clock.now)
    first_due_at = models.DateTimeField(default=clock.now, help_text="Tried for a limited time from here.")
    delivered_at = models.DateTimeField(null=True, blank=True)
    gave_up_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True, help_text="HTTP status of the last answer.")
    fault = models.CharField(max_length=40, blank=True, help_text="Why the last attempt failed: a code.")
    answer = models.CharField(max_length=300, blank=True, help_text="How the last answer began.")
    tries = models.JSONField(default=list, blank=True, help_text="[{at, status, fault, ms}, …]")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["webhook", "event"], name="one_delivery_per_webhook"),
            models.CheckConstraint(
                condition=Q(due_at__isnull=False, delivered_at__isnull=True, gave_up_at__isnull=True)
                | Q(due_at__isnull=True, delivered_at__isnull=False, gave_up_at__isnull=True)
                | Q(due_at__isnull=True, delivered_at__isnull=True, gave_up_at__isnull=False),
                name="delivery_waits_or_ended",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="delivery_due"),
            models.Index(fields=["webhook", "-created_at", "-id"], name="delivery_of_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event_id} to {self.webhook_id}"


class RememberedReply(models.Model):
    """Response to one `Idempotency-Key` of one user, kept without expiry (D9).

    Written in the transaction of the work.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(
        blank=True, default="", help_text="JSON as text, not jsonb: a repeated reply is the same to the byte."
    )
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "key"], name="one_reply_per_key")]

    def __str__(self) -> str:
        return self.key
