"""Messages of agents, in the market's own words, by the codes of the protocol."""

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext_lazy as _

from common.messages.message import HostSays, Message
from instances.core.failure_messages import PortTaken, VolumeMissing


class CheckingReceived(Message, code="checking_received", text=_("Checking received data")):
    pass


class CheckingCopy(Message, code="checking_copy", text=_("Checking the copy")):
    pass


class ComparingFiles(Message, code="comparing_files", text=_("Comparing files on both sides")):
    pass


class Copying(Message, code="copying", text=_("Copying")):
    pass


class CopyingDataDisk(Message, code="copying_data_disk", text=_("Copying the data disk")):
    pass


class CopyingDisk(Message, code="copying_disk", text=_("Copying the disk")):
    pass


class CopyingSnapshot(Message, code="copying_snapshot", text=_("Copying the snapshot")):
    pass


class CopyingChanges(Message, code="copying_changes", text=_("Copying recent changes")):
    pass


class CopyingSystemDisk(Message, code="copying_system_disk", text=_("Copying the system disk")):
    pass


class LoadingCopyProgram(Message, code="loading_copy_program", text=_("Loading the copy program")):
    pass


class PreparingToSend(Message, code="preparing_to_send", text=_("Preparing to send")):
    pass


class MakingSystemDisk(Message, code="making_system_disk", text=_("Creating a new system disk")):
    pass


class ExpandingDisk(Message, code="expanding_disk", text=_("Expanding the disk")):
    pass


class PackingSystemDisk(Message, code="packing_system_disk", text=_("Packing the system disk")):
    pass


class Receiving(Message, code="receiving", text=_("Receiving")):
    pass


class SavingSystemDisk(Message, code="saving_system_disk", text=_("Saving the system disk")):
    pass


class Sending(Message, code="sending", text=_("Sending")):
    pass


class PushingImage(Message, code="pushing_image", text=_("Pushing the image to the registry")):
    pass


class SimulatedCopy(Message, code="simulated_copy", text=_("Simulated host: nothing was copied")):
    pass


class UnpackingSystemDisk(Message, code="unpacking_system_disk", text=_("Unpacking the system disk")):
    pass


class WaitingForPull(Message, code="waiting_for_pull", text=_("Waiting for another image to finish loading")):
    pass


class LoadingImage(
    Message,
    code="loading_image",
    text=_("Loading the image: %(done)s of %(total)s MiB, %(ready)s of %(layers)s layers ready"),
):
    done: int
    total: int
    ready: int
    layers: int


class CutOff(Message, code="cut_off", text=_("Connection lost. Reconnecting… %(why)s")):
    why: HostSays


_FORMS: Final[tuple[type[Message], ...]] = (
    CheckingReceived,
    CheckingCopy,
    ComparingFiles,
    Copying,
    CopyingDataDisk,
    CopyingDisk,
    CopyingSnapshot,
    CopyingChanges,
    CopyingSystemDisk,
    LoadingCopyProgram,
    PreparingToSend,
    MakingSystemDisk,
    ExpandingDisk,
    PackingSystemDisk,
    Receiving,
    SavingSystemDisk,
    Sending,
    PushingImage,
    SimulatedCopy,
    UnpackingSystemDisk,
    WaitingForPull,
    LoadingImage,
    CutOff,
    PortTaken,
    VolumeMissing,
)
SAYINGS: Final[Mapping[str, type[Message]]] = {form.code: form for form in _FORMS}
"""Messages by the codes of `agents.protocol.progress_messages`."""
