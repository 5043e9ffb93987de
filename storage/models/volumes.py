"""Volumes, which outlive instances, their attachments, and the fill levels of disks."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from storage.constants import FULL_PERCENT
from storage.states import VolumeState


class Volume(models.Model):
    """Named storage of fixed size on one host, charged per day from ready until its deletion."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="volumes", verbose_name=_("owner")
    )
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="volumes", verbose_name=_("host"))
    name = models.CharField(_("name"), max_length=40, help_text="Found at /mnt/<name> in an instance.")
    size_gb = models.PositiveIntegerField(_("size in GB"))
    micros_per_day = models.BigIntegerField(
        _("price per day (micro-units)"), help_text="Of the whole volume; frozen at the order."
    )
    state = models.CharField(_("state"), max_length=9, choices=VolumeState, default=VolumeState.CREATING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    snapshot = models.ForeignKey(
        "Snapshot",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="What it began as.",
        verbose_name=_("snapshot"),
    )
    failure_code = models.CharField(_("failure code"), max_length=40, blank=True)
    failure_detail = models.CharField(_("failure detail"), max_length=300, blank=True)
    failure_message = MessageField()
    unpaid_since = models.DateTimeField(
        _("unpaid since"), null=True, blank=True, help_text="Nobody pays for it; deleted after the retention."
    )
    lost_at = models.DateTimeField(
        _("lost at"), null=True, blank=True, help_text="Its host does not find it: it costs nothing until it is back."
    )
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name = _("volume")
        verbose_name_plural = _("volumes")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=VolumeState.values), name="volume_state"),
            models.CheckConstraint(condition=Q(size_gb__gt=0), name="volume_has_size"),
            models.CheckConstraint(condition=Q(micros_per_day__gte=0), name="volume_price_not_negative"),
            models.CheckConstraint(
                condition=Q(state="gone", deleted_at__isnull=False) | ~Q(state="gone") & Q(deleted_at__isnull=True),
                name="volume_deleted_when_gone",
            ),
            models.UniqueConstraint(fields=["owner", "name"], condition=~Q(state="gone"), name="one_volume_per_name"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["host"], condition=~Q(state="gone"), name="volume_on_host"),
            models.Index(fields=["owner", "-created_at"], condition=~Q(state="gone"), name="volume_of_owner"),
        ]

    def __str__(self) -> str:
        return self.name


class Attachment(models.Model):
    """A volume or public data set that is mounted in one instance.

    `holder` is the instance's id, since storage does not know instances. The database guarantees one writer: at most
    one attachment of a volume has no end.
    """

    id = models.BigAutoField(primary_key=True)
    holder = models.UUIDField()
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="+")
    volume = models.ForeignKey(Volume, on_delete=models.PROTECT, null=True, blank=True, related_name="attachments")
    data_set = models.ForeignKey("DataSet", on_delete=models.PROTECT, null=True, blank=True, related_name="attachments")
    attached_at = models.DateTimeField(default=clock.now)
    detached_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(volume__isnull=True) ^ Q(data_set__isnull=True), name="attachment_of_one_thing"
            ),
            models.UniqueConstraint(fields=["volume"], condition=Q(detached_at__isnull=True), name="one_writer_per_volume"),
            models.UniqueConstraint(
                fields=["holder", "data_set"], condition=Q(detached_at__isnull=True), name="one_mount_per_data_set"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["host"], condition=Q(detached_at__isnull=True), name="attachment_on_host"),
            models.Index(fields=["holder"], condition=Q(detached_at__isnull=True), name="attachment_of_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.volume_id or self.data_set_id} in {self.holder}"


class DiskUse(models.Model):
    """Last reported fill level of a disk.

    `subject` is the id of the volume, or of the instance whose data disk it is.
    """

    subject = models.UUIDField(primary_key=True)
    host = models.ForeignKey("marketplace.Host", on_delete=models.CASCADE, related_name="+")
    used_mb = models.BigIntegerField()
    total_mb = models.BigIntegerField()
    inodes_used = models.BigIntegerField()
    inodes_total = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(used_mb__gte=0, inodes_used__gte=0), name="disk_use_not_negative"),
            models.CheckConstraint(
                condition=Q(total_mb__gte=F("used_mb"), inodes_total__gte=F("inodes_used")), name="disk_use_within"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.used_mb} of {self.total_mb} MB"

    @property
    def used_percent(self) -> int:
        return _percent(self.used_mb, self.total_mb)

    @property
    def inodes_percent(self) -> int:
        return _percent(self.inodes_used, self.inodes_total)

    @property
    def is_nearly_full(self) -> bool:
        return max(self.used_percent, self.inodes_percent) >= FULL_PERCENT


def _percent(part: int, whole: int) -> int:
    return part * 100 // whole if whole else 0
