"""What incidents about disks that their hosts lost say. `common.messages` says how messages are kept and worded."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.messages.message import Message


class Disk(models.TextChoices):
    DATA = "data", _("data disk")
    VOLUME = "volume", _("volume")


class DiskMissing(Message, code="disk_file_missing", text=_("The file of the %(disk)s no longer exists.")):
    disk: Disk


class DiskReadOnly(
    Message,
    code="disk_read_only",
    text=_("The %(disk)s can't be written to. Check the physical disk below it for errors."),
):
    disk: Disk
