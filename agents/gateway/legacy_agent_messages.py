"""English sentences that agents of version 0.1.0 send without a code, as the messages that they have now.

Nothing else reads an agent's sentences. Delete this module, and what calls it, when no such agent is left: `said` came with
the version after 0.1.0.
"""

import re
from collections.abc import Mapping
from typing import Final

from agents.gateway import agent_messages as now
from common.messages.message import HostSays, Message, Quoted
from instances.core.failure_messages import PortTaken, VolumeMissing

SAID_BEFORE: Final[Mapping[str, type[Message]]] = {
    "Checking everything that came.": now.CheckingReceived,
    "Checking the copy.": now.CheckingCopy,
    "Comparing the files on both sides.": now.ComparingFiles,
    "Copying.": now.Copying,
    "Copying the data disk.": now.CopyingDataDisk,
    "Copying the disk.": now.CopyingDisk,
    "Copying the snapshot.": now.CopyingSnapshot,
    "Copying what has changed meanwhile.": now.CopyingChanges,
    "Copying what was installed.": now.CopyingSystemDisk,
    "Loading the program that copies.": now.LoadingCopyProgram,
    "Looking at what is to be sent.": now.PreparingToSend,
    "Making a fresh root file system.": now.MakingSystemDisk,
    "Making it larger.": now.ExpandingDisk,
    "Packing what was installed.": now.PackingSystemDisk,
    "Receiving.": now.Receiving,
    "Saving the root file system.": now.SavingSystemDisk,
    "Sending.": now.Sending,
    "Sending the image to the registry.": now.PushingImage,
    "This host is simulated: nothing was copied.": now.SimulatedCopy,
    "Unpacking what was installed.": now.UnpackingSystemDisk,
    "Waiting for another image to arrive.": now.WaitingForPull,
}
_PORT: Final = re.compile(r"[Pp]ort ([0-9]{1,5}) of the host is taken by another program\.")
_VOLUME: Final = re.compile(r"The volume ([a-z0-9-]{1,63}) is not on its host: (.*)", re.DOTALL)


def message_of_sentence(sentence: str) -> Message | None:
    """Return the message of a sentence that has one now; None for all other text."""
    if form := SAID_BEFORE.get(sentence):
        return form()
    if port := _PORT.fullmatch(sentence):
        return PortTaken(port=int(port[1]))
    if volume := _VOLUME.fullmatch(sentence):
        return VolumeMissing(volume=volume[1], why=HostSays(words=Quoted(volume[2])))
    return None
