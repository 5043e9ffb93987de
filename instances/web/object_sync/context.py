"""Template contexts of object storage: connections, syncs, schedules, archives before deletion."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from django.core.paginator import Paginator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.ids import parse_public_id, public_id
from instances.constants import ARCHIVE_TRIED
from instances.core.storage_selectors import instances_with_disks
from instances.models import Instance
from instances.models.archives import ArchiveChoice
from instances.retention.selectors import archive_default, archive_place, is_archive_awaited, is_archived
from instances.web.object_sync.forms import ConnectionForm, SyncForm
from instances.web.schedules.forms import DAY_LABELS
from instances.web.volumes.rows import percent_of
from storage.object_sync.selectors import connections_of, running_syncs, schedules_of, sync_of, syncs_of
from storage.states import SnapshotSource, SyncCause, SyncState, VolumeState
from storage.volumes.selectors import volumes_of

if TYPE_CHECKING:
    from datetime import datetime

    from storage.models import Sync, SyncSchedule

ROWS_ON_A_PAGE: Final = 15
SYNC_EVENTS: Final[Mapping[str, str | Promise]] = {
    "sync_asked": _("Sync started"),
    "sync_done": _("A sync finished"),
    "sync_failed": _("A sync failed"),
    "archive_set": _("Archive before deletion changed"),
    "archive_begun": _("Archiving the data disk before deletion"),
    "archived": _("Data disk archived"),
    "archive_failed": _("The data disk couldn't be archived and will be retried"),
    "archive_given_up": _("Deleted without an archive: archiving failed for three days"),
}
# Texts of failed syncs, by failure code.
SYNC_FAULTS: Final[Mapping[str, str | Promise]] = {
    "storage_login_refused": _("The object storage rejected the access key or doesn't allow this operation."),
    "storage_unreachable": _("The host can't reach the object storage."),
    "storage_full": _("The object storage is full."),
    "bucket_missing": _("The bucket no longer exists."),
    "folder_missing": _("The source folder doesn't exist."),
    "disk_full": _("The disk is full."),
    "disk_missing": _("The disk isn't on its host."),
    "image_missing": _("The host couldn't load the copy program."),
    "out_of_time": _("It took longer than a day, or the host was offline."),
    "volume_busy": _("The host was busy with this disk, perhaps with an earlier sync."),
    "unlawful_action": _("The instance was changing state."),
    "connection_read_only": _("This connection's access key doesn't have write permission."),
}


class SyncRow:
    """One sync as the console shows it."""

    def __init__(self, sync: "Sync", disks: Collection[str] = ()) -> None:
        """Store the sync; `disks` are those that can be copied now, as the form names them."""
        self.sync = sync
        self.work = sync.operation if sync.state == SyncState.RUNNING else None
        self.percent = percent_of(self.work)
        self.is_volume = sync.subject_kind == SnapshotSource.VOLUME
        self.fault = SYNC_FAULTS.get(sync.failure_code, "")
        self.simulated = sync.host.runtime == "simulated"
        ended_early = sync.state in (SyncState.FAILED, SyncState.CANCELLED) and sync.cause != SyncCause.ARCHIVE
        self.can_be_repeated = ended_early and bool(sync.connection_id) and _disk_id(sync) in disks


class ScheduleRow:
    """One schedule in words."""

    def __init__(self, schedule: "SyncSchedule") -> None:
        self.schedule = schedule
        self.days = [DAY_LABELS[day] for day in schedule.days]
        self.daily = len(schedule.days) == len(DAY_LABELS)


def storage_context(user: User, page: str | None) -> dict[str, Any]:
    found = list(connections_of(user.pk))
    return {
        "connections": found,
        "default": archive_default(user.pk),
        "writable": [row for row in found if row.can_write],
        "tried_days": ARCHIVE_TRIED.days,
        **runs_context(user, page),
    }


def runs_context(user: User, page: str | None) -> dict[str, Any]:
    found = Paginator(syncs_of(user.pk), ROWS_ON_A_PAGE).get_page(page)
    disks = [key for key, _words in _sources(user)]
    return {
        "page": found,
        "rows": [SyncRow(row, disks) for row in found.object_list],
        "schedules": [ScheduleRow(row) for row in schedules_of(user.pk)],
        "has_connection": connections_of(user.pk).exists(),
    }


def sync_form(user: User, sent: Any, params: Mapping[str, str]) -> SyncForm:
    """Return the form of a sync, or raise NotFound.

    `asked` may name a disk as `source`, or an earlier sync as `again`.
    """
    places = [(public_id("conn", row.pk), f"{row.name} · {row.place}") for row in connections_of(user.pk)]
    return SyncForm(sent, auto_id="sync-%s", initial=_initial(user, params), sources=_sources(user), connections=places)


def _initial(user: User, params: Mapping[str, str]) -> dict[str, Any]:
    if "again" not in params:
        return {"source": params.get("source", "")}
    past = sync_of(user.pk, parse_public_id("sync", params["again"]))
    place = past.connection_id and public_id("conn", past.connection_id)
    initial = {name: getattr(past, name) for name in ("direction", "path", "folder", "delete_extra")}
    return {"source": _disk_id(past), "connection": place, **initial}


def _disk_id(sync: "Sync") -> str:
    return public_id("vol" if sync.subject_kind == SnapshotSource.VOLUME else "inst", sync.subject_id)


def _sources(user: User) -> list[tuple[str, str]]:
    """Return the disks that can be copied now, as (id, text)."""
    volumes = volumes_of(user.pk).filter(state=VolumeState.READY)
    sources = [(public_id("vol", row.pk), f"{row.name} · {row.size_gb} GB") for row in volumes]
    disks = instances_with_disks(user.pk)
    return sources + [(public_id("inst", row.pk), f"{row.name} · /data · {row.data_disk_gb} GB") for row in disks]


def connection_form(sent: Any) -> ConnectionForm:
    return ConnectionForm(sent, auto_id="connection-%s")


def archive_context(instance: Instance, now: "datetime") -> dict[str, Any]:
    """Return the context of an instance's disk page about its running sync and its archive."""
    running = running_syncs([instance.pk]).get(instance.pk)
    place = archive_place(instance)
    return {
        "sync": SyncRow(running) if running else None,
        "archive_place": place,
        "archive_default": archive_default(instance.renter_id),
        "archive_own": instance.archive_to_id and public_id("conn", instance.archive_to_id),
        "archive_off": instance.archive_choice == ArchiveChoice.OFF,
        "archived": is_archived(instance),
        "archive_awaited": instance.release_at is not None
        and instance.release_at <= now
        and is_archive_awaited(instance, now),
        "archive_days": ARCHIVE_TRIED.days,
        "writable": [row for row in connections_of(instance.renter_id) if row.can_write],
    }
