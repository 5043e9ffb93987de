"""Archiving of an instance's data disk before it is deleted after a long stop."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class ArchiveChoice(models.TextChoices):
    ACCOUNT = "account"
    ON = "on"
    OFF = "off"


class Archived(models.Model):
    """Columns of an instance about its archive.

    The times refer to the deletion after the last stop only.
    """

    archive_choice = models.CharField(
        _("archive setting"), max_length=7, choices=ArchiveChoice, default=ArchiveChoice.ACCOUNT
    )
    archive_to = models.ForeignKey(
        "storage.Connection",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("archived to"),
    )
    archive_tried_at = models.DateTimeField(
        _("last archive attempt"), null=True, blank=True, help_text="When it was last ordered."
    )
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True)

    class Meta:
        abstract = True


class ArchiveDefault(models.Model):
    """Destination of archived data disks of a user's instances, unless an instance says otherwise."""

    id = models.BigAutoField(primary_key=True)
    renter = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    connection = models.ForeignKey("storage.Connection", on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"{self.renter_id} → {self.connection_id}"


ARCHIVE_CONSTRAINTS: Final = [
    models.CheckConstraint(
        condition=Q(archive_choice="on", archive_to__isnull=False)
        | Q(archive_choice__in=["account", "off"], archive_to__isnull=True),
        name="instance_archive_names_its_place",
    )
]
