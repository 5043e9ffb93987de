"""States and transitions of what storage keeps; `docs/lifecycles.md` is printed from these tables."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.transitions import Machine


class OperationState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


OPERATION_MACHINE = Machine(
    name="operation",
    initial=OperationState.WAITING,
    final=frozenset({OperationState.DONE, OperationState.FAILED, OperationState.CANCELLED}),
    table={
        OperationState.WAITING: frozenset(
            {OperationState.RUNNING, OperationState.DONE, OperationState.FAILED, OperationState.CANCELLED}
        ),
        OperationState.RUNNING: frozenset({OperationState.DONE, OperationState.FAILED, OperationState.CANCELLED}),
        OperationState.DONE: frozenset(),
        OperationState.FAILED: frozenset(),
        OperationState.CANCELLED: frozenset(),
    },
)


class ImageSource(models.TextChoices):
    OFFICIAL = "official", _("official")
    NAMED = "named", _("by name")
    SAVED = "saved", _("saved from an instance")


class ImageState(models.TextChoices):
    SAVING = "saving", _("saving")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")
    DROPPING = "dropping", _("deleting")
    GONE = "gone", _("deleted")


IMAGE_MACHINE = Machine(
    name="image",
    initial=ImageState.SAVING,  # an image that is added by name starts as ready
    final=frozenset({ImageState.GONE}),
    table={
        ImageState.SAVING: frozenset({ImageState.READY, ImageState.FAILED}),
        ImageState.READY: frozenset({ImageState.DROPPING, ImageState.GONE}),
        ImageState.FAILED: frozenset({ImageState.DROPPING, ImageState.GONE}),
        ImageState.DROPPING: frozenset({ImageState.GONE}),
        ImageState.GONE: frozenset(),
    },
)


class VolumeState(models.TextChoices):
    CREATING = "creating", _("creating")
    READY = "ready", _("ready")
    RESTORING = "restoring", _("restoring")
    MOVING = "moving", _("moving")  # its host is sending it to another one
    COPYING = "copying", _("copying")  # its host is sending a copy to another one
    FAILED = "failed", _("failed")
    DELETING = "deleting", _("deleting")
    GONE = "gone", _("deleted")


class SnapshotState(models.TextChoices):
    CREATING = "creating", _("creating")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")
    DELETING = "deleting", _("deleting")
    GONE = "gone", _("deleted")


class SnapshotSource(models.TextChoices):
    VOLUME = "volume", _("volume")
    DISK = "disk", _("data disk")


VOLUME_MACHINE = Machine(
    name="volume",
    initial=VolumeState.CREATING,
    final=frozenset({VolumeState.GONE}),
    table={
        VolumeState.CREATING: frozenset({VolumeState.READY, VolumeState.FAILED}),
        VolumeState.READY: frozenset({VolumeState.RESTORING, VolumeState.MOVING, VolumeState.COPYING, VolumeState.DELETING}),
        VolumeState.RESTORING: frozenset({VolumeState.READY}),  # a restore that fails leaves the volume as it was
        VolumeState.MOVING: frozenset({VolumeState.READY}),  # on the new host, or on the old one after a failure
        VolumeState.COPYING: frozenset({VolumeState.READY}),
        VolumeState.FAILED: frozenset({VolumeState.DELETING}),
        VolumeState.DELETING: frozenset({VolumeState.GONE}),
        VolumeState.GONE: frozenset(),
    },
)

SNAPSHOT_MACHINE = Machine(
    name="snapshot",
    initial=SnapshotState.CREATING,
    final=frozenset({SnapshotState.GONE}),
    table={
        SnapshotState.CREATING: frozenset({SnapshotState.READY, SnapshotState.FAILED}),
        SnapshotState.READY: frozenset({SnapshotState.DELETING}),
        SnapshotState.FAILED: frozenset({SnapshotState.DELETING}),
        SnapshotState.DELETING: frozenset({SnapshotState.GONE}),
        SnapshotState.GONE: frozenset(),
    },
)


class VolumeMoveKind(models.TextChoices):
    MOVE = "move", _("move")
    COPY = "copy", _("copy")


class VolumeMoveState(models.TextChoices):
    COPYING = "copying", _("copying")
    CLEARING = "clearing", _("removing the old copy")
    UNDOING = "undoing", _("deleting the partial copy")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


W = VolumeMoveState

VOLUME_MOVE_MACHINE = Machine(
    name="volume move",
    initial=W.COPYING,
    final=frozenset({W.DONE, W.FAILED, W.CANCELLED}),
    table={
        # The source is kept until the target has all data; a copy keeps it for good.
        W.COPYING: frozenset({W.CLEARING, W.DONE, W.UNDOING, W.FAILED, W.CANCELLED}),
        W.CLEARING: frozenset({W.DONE}),
        W.UNDOING: frozenset({W.FAILED, W.CANCELLED}),
        W.DONE: frozenset(),
        W.FAILED: frozenset(),
        W.CANCELLED: frozenset(),
    },
)


class SyncDirection(models.TextChoices):
    UP = "up", _("to object storage")
    DOWN = "down", _("from object storage")


class SyncCause(models.TextChoices):
    ASKED = "asked", _("manual")
    SCHEDULE = "schedule", _("schedule")
    ARCHIVE = "archive", _("archive before deletion")


class SyncMail(models.TextChoices):
    """Kind of the mail that the owner is to receive about a sync."""

    ARCHIVED = "archived", _("archived")
    FAILED = "failed", _("an archive failed")
    GIVEN_UP = "given_up", _("deleted without an archive")


class SyncState(models.TextChoices):
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


SYNC_MACHINE = Machine(
    name="sync",
    initial=SyncState.RUNNING,
    final=frozenset({SyncState.DONE, SyncState.FAILED, SyncState.CANCELLED}),
    table={
        SyncState.RUNNING: frozenset({SyncState.DONE, SyncState.FAILED, SyncState.CANCELLED}),
        SyncState.DONE: frozenset(),
        SyncState.FAILED: frozenset(),
        SyncState.CANCELLED: frozenset(),
    },
)
