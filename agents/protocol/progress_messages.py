"""What an agent says of its work and of failures: a code with parameters, and the same as an English sentence.

A control plane that knows the code shows it in its reader's language. One that does not know it, or is older than the
codes, shows the sentence; agents older than the codes send the sentence alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

LOADING_IMAGE: Final = "loading_image"
CUT_OFF: Final = "cut_off"
PORT_TAKEN: Final = "port_taken"
VOLUME_MISSING: Final = "volume_missing"

# Sentences by code, with the parameters in braces. Codes may be added, never changed or removed.
SENTENCES: Final[Mapping[str, str]] = {
    "checking_copy": "Checking the copy.",
    "checking_received": "Checking everything that came.",
    "comparing_files": "Comparing the files on both sides.",
    "copying": "Copying.",
    "copying_changes": "Copying what has changed meanwhile.",
    "copying_data_disk": "Copying the data disk.",
    "copying_disk": "Copying the disk.",
    "copying_snapshot": "Copying the snapshot.",
    "copying_system_disk": "Copying what was installed.",
    CUT_OFF: "Cut off: {why}. Dialling again.",
    "expanding_disk": "Making it larger.",
    "loading_copy_program": "Loading the program that copies.",
    LOADING_IMAGE: "Loading the image: {done} of {total} MiB, {ready} of {layers} layers ready.",
    "making_system_disk": "Making a fresh root file system.",
    "packing_system_disk": "Packing what was installed.",
    PORT_TAKEN: "Port {port} of the host is taken by another program.",
    "preparing_to_send": "Looking at what is to be sent.",
    "pushing_image": "Sending the image to the registry.",
    "receiving": "Receiving.",
    "saving_system_disk": "Saving the root file system.",
    "sending": "Sending.",
    "simulated_copy": "This host is simulated: nothing was copied.",
    "unpacking_system_disk": "Unpacking what was installed.",
    VOLUME_MISSING: "The volume {volume} is not on its host: {why}.",
    "waiting_for_pull": "Waiting for another image to arrive.",
}
_LONGEST: Final = 300


@dataclass(frozen=True)
class Said:
    """Message with the code of one of SENTENCES, and its parameters."""

    code: str
    params: dict[str, str] = field(default_factory=dict)

    @property
    def in_english(self) -> str:
        return SENTENCES[self.code].format(**self.params)[:_LONGEST]


def say(code: str, **params: object) -> Said:
    """Return the message of a code.

    Raises:
        KeyError: There is no such code, or a parameter is missing.
    """
    message = Said(code, {name: str(value) for name, value in params.items()})
    if not message.in_english:
        raise KeyError(code)
    return message
