"""Texts of events and failures of volumes and snapshots."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MOUNT_EVENTS: Final[Mapping[str, str | Promise]] = {
    "volume_attached": _("You attached a volume"),
    "volume_detached": _("You detached a volume"),
    "volume_coming": _("A volume is moved to its host first"),
    "volume_arrived": _("Its volumes have come"),
    "volume_not_moved": _("A volume could not be moved to its host"),
    "volume_cancelled": _("You gave up waiting for its volume"),
    "data_set_attached": _("You mounted a public data set"),
    "data_set_detached": _("You took a public data set away"),
    "snapshot_asked": _("You took a snapshot of its data disk"),
    "disk_restored": _("You asked to put its data disk back to a snapshot"),
}

_FAILURES: Final[Mapping[str, str | Promise]] = {
    "disk_full": _("The host had no room for it; nothing was charged."),
    "disk_missing": _("The disk was not on the host any more."),
    "snapshot_missing": _("The snapshot was not on the host any more; nothing was changed."),
    "snapshot_damaged": _("The snapshot's checksum does not match any more; nothing was changed."),
    "line_lost": _("The two hosts could not reach each other; nothing was changed."),
    "bad_parcel": _("What the other host sent was not this volume; nothing was changed."),
    "copy_damaged": _("The copy was damaged on the host's disk and was thrown away; nothing was charged."),
    "out_of_time": _("It took too long and was given up; nothing was changed."),
}
_OTHER: Final = _("It failed; nothing was changed.")


def failure_words(code: str) -> str | Promise:
    """Return the text of a failure, or "" without one."""
    return _FAILURES.get(code, _OTHER) if code else ""
