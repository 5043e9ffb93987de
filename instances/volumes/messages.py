"""Texts of events and failures of volumes and snapshots."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MOUNT_EVENTS: Final[Mapping[str, str | Promise]] = {
    "volume_attached": _("Volume attached"),
    "volume_detached": _("Volume detached"),
    "volume_coming": _("Moving a volume to the host first"),
    "volume_arrived": _("Volumes have arrived"),
    "volume_not_moved": _("Volume couldn't be moved to the host"),
    "volume_cancelled": _("Volume transfer cancelled"),
    "data_set_attached": _("Public dataset attached"),
    "data_set_detached": _("Public dataset detached"),
    "snapshot_asked": _("Snapshot of the data disk created"),
    "disk_restored": _("Restore of the data disk requested"),
}

_FAILURES: Final[Mapping[str, str | Promise]] = {
    "disk_full": _("The host ran out of space. You weren't charged."),
    "disk_missing": _("The disk is no longer on the host."),
    "snapshot_missing": _("The snapshot is no longer on the host. Nothing was changed."),
    "snapshot_damaged": _("The snapshot's checksum doesn't match. Nothing was changed."),
    "line_lost": _("The two hosts couldn't connect to each other. Nothing was changed."),
    "bad_parcel": _("The other host sent different data. Nothing was changed."),
    "copy_damaged": _("The copy was damaged on the host's disk and discarded. You weren't charged."),
    "out_of_time": _("It timed out. Nothing was changed."),
}
_OTHER: Final = _("It failed. Nothing was changed.")


def failure_text(code: str) -> str | Promise:
    """Return the text of a failure, or "" without one."""
    return _FAILURES.get(code, _OTHER) if code else ""
