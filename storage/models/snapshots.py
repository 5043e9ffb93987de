"""Snapshots of volumes and data disks, and the public data sets made from them."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from common.printable import Printable, PrintableField
from storage.states import SnapshotSource, SnapshotState


class Snapshot(models.Model):
    """A copy of a disk at one moment, on the disk's host.

    It is ready when the copy is complete and its checksum is known.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="snapshots", verbose_name=_("owner")
    )
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="snapshots", verbose_name=_("host"))
    name = PrintableField(_("name"), max_length=80)
    source_kind = models.CharField(_("copy of"), max_length=6, choices=SnapshotSource)
    source_id = models.UUIDField(
        _("ID of the source"), help_text="The volume, or the instance whose data disk it is a copy of."
    )
    source_name = models.CharField(_("source name"), max_length=80)
    size_gb = models.PositiveIntegerField(
        _("size (GB)"), help_text="Of the disk; a volume made from it is at least as large."
    )
    micros_gb_day = models.BigIntegerField(_("price per GB and day (micro-units)"), help_text="Frozen at the order.")
    stored_bytes = models.BigIntegerField(
        _("stored bytes"), default=0, help_text="What it takes on the host, and is charged for."
    )
    checksum = models.CharField(_("checksum"), max_length=64, blank=True)
    state = models.CharField(_("state"), max_length=8, choices=SnapshotState, default=SnapshotState.CREATING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    failure_code = models.CharField(_("failure code"), max_length=40, blank=True)
    failure_detail = models.CharField(_("failure detail"), max_length=300, blank=True)
    failure_message = MessageField()
    unpaid_since = models.DateTimeField(_("unpaid since"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    ready_at = models.DateTimeField(_("ready at"), null=True, blank=True)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            Printable(column="name", name="snapshot_name_is_printable"),
            models.CheckConstraint(condition=Q(state__in=SnapshotState.values), name="snapshot_state"),
            models.CheckConstraint(condition=~Q(state="ready") | ~Q(checksum=""), name="snapshot_whole_when_ready"),
            models.CheckConstraint(
                condition=Q(state="gone", deleted_at__isnull=False) | ~Q(state="gone") & Q(deleted_at__isnull=True),
                name="snapshot_deleted_when_gone",
            ),
            models.UniqueConstraint(
                fields=["source_id"], condition=Q(state="creating"), name="one_snapshot_at_a_time_per_disk"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner", "-created_at"], condition=~Q(state="gone"), name="snapshot_of_owner"),
        ]

    def __str__(self) -> str:
        return self.name


class DataSet(models.Model):
    """A snapshot that staff have published: every instance on its host may read it at /pub/<slug>."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    slug = models.SlugField(_("short name"), max_length=40, unique=True, help_text="Found at /pub/<short name>.")
    title = PrintableField(_("title"), max_length=120)
    description = models.TextField(_("description"), max_length=2000, blank=True)
    licence = PrintableField(_("license"), max_length=120, blank=True)
    snapshot = models.OneToOneField(Snapshot, on_delete=models.PROTECT, related_name="data_set", verbose_name=_("snapshot"))
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("published by")
    )
    published_at = models.DateTimeField(_("published at"), default=clock.now)
    active = models.BooleanField(_("listed"), default=True, help_text="Off: nothing new may mount it.")

    class Meta:
        constraints: ClassVar = [
            Printable(column="title", name="data_set_title_is_printable"),
            Printable(column="licence", name="data_set_licence_is_printable"),
        ]
        verbose_name = _("public dataset")
        verbose_name_plural = _("public datasets")
        ordering = ("title", "id")

    def __str__(self) -> str:
        return self.title
