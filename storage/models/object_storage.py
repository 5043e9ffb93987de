"""Object storage of renters: connections, syncs and their schedules."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from common.printable import Printable, PrintableField
from storage.states import SnapshotSource, SyncCause, SyncDirection, SyncMail, SyncState


class Connection(models.Model):
    """Access to a folder in S3-compatible object storage, checked when it was saved.

    The secret key is encrypted.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connections")
    name = PrintableField(_("name"), max_length=60)
    endpoint = models.CharField(_("endpoint"), max_length=300)
    region = models.CharField(_("region"), max_length=60)
    bucket = models.CharField(_("bucket"), max_length=63)
    prefix = models.CharField(_("folder"), max_length=300, blank=True, help_text="Without slashes at its ends.")
    key_id = models.CharField(_("access key"), max_length=200)
    sealed_secret = models.TextField(help_text="Encrypted: see common/encryption.py.")
    virtual_host = models.BooleanField(default=False, help_text="The bucket is part of the host's name.")
    can_write = models.BooleanField(default=True)
    checked_at = models.DateTimeField(default=clock.now)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        verbose_name = _("object storage connection")
        verbose_name_plural = _("object storage connections")
        ordering = ("name", "id")
        constraints: ClassVar = [
            Printable(column="name", name="connection_name_is_printable"),
            models.UniqueConstraint(fields=["owner", "name"], name="one_connection_per_name"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def place(self) -> str:
        """Return bucket and folder as shown to users."""
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket


class SyncTerms(models.Model):
    """Terms of a sync: a folder of a disk, a folder of the connection, and the direction.

    The disk is a volume or the data disk of an instance.
    """

    subject_kind = models.CharField(max_length=6, choices=SnapshotSource)
    subject_id = models.UUIDField(help_text="The volume, or the instance whose data disk it is.")
    subject_name = models.CharField(max_length=80)
    direction = models.CharField(max_length=4, choices=SyncDirection)
    path = models.CharField(max_length=500, blank=True, help_text="In the disk; empty: all of it.")
    folder = models.CharField(max_length=500, blank=True, help_text="In the connection's own folder.")
    delete_extra = models.BooleanField(default=False, help_text="What the other side does not have is deleted.")

    class Meta:
        abstract = True


class SyncSchedule(SyncTerms):
    """A sync that is repeated every so many hours, or on chosen days at a time in a time zone."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="schedules")
    every_hours = models.PositiveSmallIntegerField(null=True, blank=True)
    days = models.JSONField(default=list, blank=True, help_text="0 (Monday) … 6, with `at` and `time_zone`.")
    at = models.CharField(max_length=5, blank=True, help_text="HH:MM")
    time_zone = models.CharField(max_length=64, blank=True)
    next_at = models.DateTimeField()
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("next_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(every_hours__gt=0, at="") | Q(every_hours__isnull=True) & ~Q(at=""),
                name="sync_schedule_comes_round",
            )
        ]
        indexes: ClassVar = [models.Index(fields=["next_at"], name="sync_schedule_due")]

    def __str__(self) -> str:
        return f"{self.subject_name} {self.direction}"


class Sync(SyncTerms):
    """One run of a sync, requested by its owner, by a schedule, or before a deletion.

    Its progress is that of its operation.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="syncs")
    connection = models.ForeignKey(Connection, on_delete=models.SET_NULL, null=True, blank=True, related_name="syncs")
    connection_name = models.CharField(max_length=60)
    schedule = models.ForeignKey(SyncSchedule, on_delete=models.SET_NULL, null=True, blank=True, related_name="syncs")
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="+")
    operation = models.ForeignKey("Operation", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    cause = models.CharField(max_length=8, choices=SyncCause, default=SyncCause.ASKED)
    state = models.CharField(_("state"), max_length=9, choices=SyncState, default=SyncState.RUNNING)
    generation = models.PositiveBigIntegerField(default=0)
    copied_bytes = models.BigIntegerField(default=0)
    copied_files = models.BigIntegerField(default=0)
    same_files = models.BigIntegerField(default=0, help_text="Found to be there already.")
    deleted_files = models.BigIntegerField(default=0)
    failure_code = models.CharField(max_length=40, blank=True)
    failure_detail = models.CharField(max_length=300, blank=True)
    failure_message = MessageField()
    created_at = models.DateTimeField(default=clock.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    mail = models.CharField(max_length=8, choices=SyncMail, blank=True, help_text="What its owner is to be written.")
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("sync with object storage")
        verbose_name_plural = _("syncs with object storage")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=SyncState.values), name="sync_state"),
            models.CheckConstraint(
                condition=Q(state="running", ended_at__isnull=True) | ~Q(state="running") & Q(ended_at__isnull=False),
                name="sync_ended_when_over",
            ),
            models.UniqueConstraint(fields=["subject_id"], condition=Q(state="running"), name="one_sync_of_a_disk"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["subject_id", "-created_at"], name="sync_of_subject"),
            models.Index(fields=["owner", "-created_at"], name="sync_of_owner"),
            models.Index(fields=["ended_at"], condition=Q(mailed_at__isnull=True) & ~Q(mail=""), name="sync_to_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.subject_name} {self.direction} {self.created_at:%Y-%m-%d %H:%M}"
