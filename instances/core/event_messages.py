"""What events say beside their kind, and why a run failed. `common.messages` holds how they are stored and worded."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from common.messages.message import About, HostSays, Message, Micros, Name, Words, of_row
from instances.core.alert_messages import TITLES
from instances.core.gpu_xid_errors import xid_of
from instances.models import Alert
from instances.states import InstanceState
from marketplace.states import MaintenanceCategory

if TYPE_CHECKING:
    from storage.models import Sync

# -- the host


class WrittenOff(
    Message,
    code="written_off",
    text=_(
        "The host did not come back and was written off; this is the host's fault. You aren't charged for the time since its"
        " last report at %(at)s. Data on it is lost."
    ),
):
    at: datetime


class MaintenanceAtHost(Message, code="maintenance", text=_("%(category)s: %(begins)s – %(ends)s")):
    category: MaintenanceCategory
    begins: datetime
    ends: datetime


class MaintenanceAtHostWithNote(Message, code="maintenance_noted", text=_("%(category)s: %(begins)s – %(ends)s. %(note)s")):
    category: MaintenanceCategory
    begins: datetime
    ends: datetime
    note: HostSays


class Overdue(
    Message,
    code="overdue",
    text=_("This takes longer than expected (%(state)s). Support has been notified; it continues automatically."),
):
    state: InstanceState


class TakenOver(
    Message,
    code="not_in_backup",
    text=_("The instance was released or moved to another host after the backup that Berth was restored from."),
):
    pass


# -- life and size


class LineLeft(
    Message,
    code="line_left",
    text=ngettext_lazy(
        "No GPUs were free for %(days)s day. The held amount is released, and data is kept.",
        "No GPUs were free for %(days)s days. The held amount is released, and data is kept.",
        "days",
    ),
):
    days: int


class RetentionOver(
    Message,
    code="retention_over",
    text=ngettext_lazy(
        "Data was kept for %(days)s day after the stop.", "Data was kept for %(days)s days after the stop.", "days"
    ),
):
    days: int


class Resized(
    Message,
    code="resized",
    text=ngettext_lazy("%(before)s → %(after)s GPU, %(rate)s/hr", "%(before)s → %(after)s GPUs, %(rate)s/hr", "after"),
):
    before: int
    after: int
    rate: Micros


class DiskResized(Message, code="disk_resized", text="%(before)s → %(after)s GB"):
    before: int
    after: int


class DiskSize(Message, code="disk_size", text="%(size)s GB"):
    size: int


# -- schedule


class At(Message, code="at", text="%(at)s"):
    at: datetime


class StopAt(Message, code="stop_at", text=_("Stop at %(at)s")):
    at: datetime


class ReleaseAt(Message, code="release_at", text=_("Release at %(at)s")):
    at: datetime


class Weekly(
    Message,
    code="weekly",
    text=ngettext_lazy("%(count)s weekly entry (%(zone)s)", "%(count)s weekly entries (%(zone)s)", "count"),
):
    count: int
    zone: str


class StopIdle(Message, code="stop_idle", text=_("Idle stop below %(percent)s%% for %(minutes)s min")):
    percent: int
    minutes: int


class NoSchedule(Message, code="no_schedule", text=_("No schedule is set.")):
    pass


class WasIdle(
    Message,
    code="was_idle",
    text=_("GPU usage stayed below %(percent)s%% for %(minutes)s min, and no one was connected."),
):
    percent: int
    minutes: int


# -- storage


class SyncUp(Message, code="sync_up", text=_("To bucket %(connection)s")):
    connection: str


class SyncDown(Message, code="sync_down", text=_("From bucket %(connection)s")):
    connection: str


class ArchiveGivenUp(
    Message,
    code="archive_given_up",
    text=ngettext_lazy("Not archived within %(days)s day: %(why)s", "Not archived within %(days)s days: %(why)s", "days"),
):
    days: int
    why: Message


class ArchiveUntried(
    Message,
    code="archive_untried",
    text=ngettext_lazy("Not archived within %(days)s day", "Not archived within %(days)s days", "days"),
):
    days: int


# -- alerts


class Used(Message, code="used", text=_("%(percent)s%% used")):
    percent: int


class AtMost(Message, code="at_most", text=_("At most %(percent)s%% in the last %(minutes)s min")):
    percent: int
    minutes: int


class MemoryLimit(Message, code="memory_limit", text=_("Memory limit: %(size)s MiB")):
    size: int


class GpuError(Message, code="gpu_error", text=_("Xid %(number)s on %(gpu)s: %(title)s")):
    number: int
    gpu: str

    def named(self) -> Mapping[str, Words]:
        return {"title": xid_of(self.number).title}


class AlertTitle(Message, code="alert_title", text="%(title)s"):
    alert: Alert.Kind

    def named(self) -> Mapping[str, Words]:
        return {"title": TITLES[self.alert]}


class AlertOver(Message, code="alert_over", text=_("%(title)s: resolved")):
    alert: Alert.Kind

    def named(self) -> Mapping[str, Words]:
        return {"title": TITLES[self.alert]}


class AlertDismissed(Message, code="alert_dismissed", text=_("%(title)s: dismissed")):
    alert: Alert.Kind

    def named(self) -> Mapping[str, Words]:
        return {"title": TITLES[self.alert]}


class AlertEnded(Message, code="alert_ended", text=_("%(title)s: ended with the run")):
    alert: Alert.Kind

    def named(self) -> Mapping[str, Words]:
        return {"title": TITLES[self.alert]}


def alert_message(alert: Alert) -> Message:
    """Say what an alert is about."""
    if alert.kind == Alert.Kind.GPU_FAULT:
        return GpuError(number=alert.facts.get("xid", 0), gpu=str(alert.facts.get("gpu", "")))
    title = AlertTitle(alert=Alert.Kind(alert.kind))
    return About(name=str(alert.facts["volume"]), what=title) if "volume" in alert.facts else title


def failure_of(sync: "Sync") -> Message:
    """Why a copy to or from object storage failed, and which connection's it was."""
    why = of_row(sync.failure_message, sync.failure_detail)
    return About(name=sync.connection_name, what=why) if why else Name(name=sync.connection_name)
