"""What keeps accounts safe: their log, sessions and devices, credentials that have ended, mail that waits."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from common import clock
from common.ids import new_uuid


class AccountEvent(models.Model):
    """Something done to or with an account, as its owner reads it. Rows are never changed or deleted: a trigger refuses.

    `user` is null for a log-in with an address that nobody has: it is written down like any other that failed.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, blank=True, help_text="What it was done to, as its owner knows it.")
    via = models.CharField(max_length=40, blank=True, help_text="console, a token and its prefix; empty: the market.")
    address = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-at", "-id")
        indexes: ClassVar = [models.Index(fields=["user", "-at", "-id"], name="account_event_of_user")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class KnownDevice(models.Model):
    """A browser in which somebody has logged in: it holds a secret of its own in a cookie that lasts."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    secret_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=clock.now)
    seen_at = models.DateTimeField(default=clock.now, help_text="When it last logged in.")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "secret_hash"], name="one_device_per_secret")]

    def __str__(self) -> str:
        return f"a device of {self.user_id}"


class AccountSession(models.Model):
    """A session as its person sees it: which browser, from where, until when it was used."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    seen_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-seen_at", "-id")

    def __str__(self) -> str:
        return f"a session of {self.user_id}"


class EndedCredential(models.Model):
    """A token, session or version of an account whose tickets the relay must refuse, until the last of them has expired."""

    name = models.CharField(primary_key=True, max_length=80)
    until = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["until"], name="ended_credential_age")]

    def __str__(self) -> str:
        return self.name


class OutgoingMail(models.Model):
    """A mail that waits to be sent. Its row goes with it: bodies may hold links that let someone in."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    to = models.EmailField()
    subject = models.CharField(max_length=200)
    body = models.TextField()
    due_at = models.DateTimeField(default=clock.now)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("created_at", "id")
        indexes: ClassVar = [models.Index(fields=["due_at"], name="outgoing_mail_due")]

    def __str__(self) -> str:
        return f"mail to {self.to}"


class InvitationMail(models.Model):
    """One invitation that was written to somebody: what the limits of inviting are counted from. Kept for a day.

    No foreign keys: a team that is deleted, or left, does not give its mails back.
    """

    id = models.BigAutoField(primary_key=True)
    sender_id = models.UUIDField()
    team_id = models.UUIDField()
    email = models.EmailField(help_text="In lower case.")
    at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["sender_id", "at"], name="invitation_mail_of_sender"),
            models.Index(fields=["team_id", "at"], name="invitation_mail_of_team"),
            models.Index(fields=["email", "at"], name="invitation_mail_to"),
        ]

    def __str__(self) -> str:
        return f"invitation of {self.email}"
