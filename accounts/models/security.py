"""Security of accounts: their log, sessions and devices, ended credentials, and queued mail."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.constants import MAIL_TRIED
from common import clock
from common.ids import new_uuid


class AccountEvent(models.Model):
    """Event of an account, as its owner reads it; a trigger refuses changes and deletions.

    `user` is null for a log-in with an unknown address: it is recorded like any other that failed.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, verbose_name=_("account")
    )
    kind = models.CharField(_("kind"), max_length=40)
    subject = models.CharField(
        _("subject"), max_length=200, blank=True, help_text="What it was done to, as its owner knows it."
    )
    via = models.CharField(
        _("via"), max_length=40, blank=True, help_text="console, a token and its prefix; empty: the market."
    )
    address = models.GenericIPAddressField(_("address"), null=True)
    agent = models.CharField(_("browser or program"), max_length=200, blank=True)
    at = models.DateTimeField(_("time"), default=clock.now)

    class Meta:
        verbose_name = _("account event")
        verbose_name_plural = _("account events")
        ordering = ("-at", "-id")
        indexes: ClassVar = [models.Index(fields=["user", "-at", "-id"], name="account_event_of_user")]

    def __str__(self) -> str:
        return self.subject or self.kind


class KnownDevice(models.Model):
    """Browser in which a user has logged in: it holds a secret of its own in a persistent cookie."""

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
    """Session as shown to its user: browser, address, and last use."""

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
    """Token, session or account version whose tickets the relay must refuse.

    The row is needed until the last of those tickets has expired.
    """

    name = models.CharField(primary_key=True, max_length=80)
    until = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["until"], name="ended_credential_age")]

    def __str__(self) -> str:
        return self.name


def mail_expiry() -> datetime:
    """Return the default expiry of a mail."""
    return clock.now() + MAIL_TRIED


class OutgoingMail(models.Model):
    """Mail to one address: written in the transaction that causes it, sent by a worker afterwards.

    Its body is deleted once it was sent or has failed permanently, since it may hold a link that logs someone in.
    The rest is kept for some days, for staff, and so that the same `key` is not mailed twice.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    key = models.CharField(_("key"), max_length=200, null=True, blank=True, unique=True, help_text="Of what it tells.")
    to = models.EmailField(_("recipient"))
    subject = models.CharField(_("subject"), max_length=200)
    body = models.TextField(_("body"), blank=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    due_at = models.DateTimeField(
        _("due at"), default=clock.now, help_text="Not tried before; behind a try that is under way."
    )
    expires_at = models.DateTimeField(_("expires at"), default=mail_expiry, help_text="Not tried after.")
    tries = models.PositiveIntegerField(_("attempts"), default=0, db_default=0)
    fault = models.CharField(
        _("last error"), max_length=80, blank=True, db_default="", help_text="What the last try came to."
    )
    server_failed_at = models.DateTimeField(
        _("mail server failed at"), null=True, blank=True, help_text="When the mail server itself failed it."
    )
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    given_up_at = models.DateTimeField(_("failed permanently at"), null=True, blank=True)

    class Meta:
        verbose_name = _("outgoing email")
        verbose_name_plural = _("outgoing email")
        ordering = ("created_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(sent_at=None) | Q(given_up_at=None), name="mail_ends_one_way"),
            models.CheckConstraint(
                condition=Q(sent_at=None, given_up_at=None) | Q(body=""), name="mail_that_is_over_has_no_body"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(sent_at=None, given_up_at=None), name="outgoing_mail_due"),
            models.Index(fields=["created_at"], name="outgoing_mail_age"),
        ]

    def __str__(self) -> str:
        return self.to


class InvitationMail(models.Model):
    """Mail of one invitation, kept for a day; the limits of inviting count these rows.

    There are no foreign keys: leaving or deleting a team must not reset the count.
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
