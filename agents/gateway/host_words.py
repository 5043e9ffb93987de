"""Storage form of the sentences that agents send.

Progress texts that the market knows stay as they are, so that they are translated when shown; all other text is
marked as the host's own words.
"""

import re
from typing import Final

from django.utils.translation import gettext_noop as _

from common.host_words import host_says

PROGRESS_WORDS: Final = {
    _("Checking everything that came."),
    _("Checking the copy."),
    _("Comparing the files on both sides."),
    _("Copying."),
    _("Copying the data disk."),
    _("Copying the disk."),
    _("Copying the snapshot."),
    _("Copying what has changed meanwhile."),
    _("Copying what was installed."),
    _("Loading the program that copies."),
    _("Looking at what is to be sent."),
    _("Making a fresh root file system."),
    _("Making it larger."),
    _("Packing what was installed."),
    _("Receiving."),
    _("Saving the root file system."),
    _("Sending."),
    _("Sending the image to the registry."),
    _("This host is simulated: nothing was copied."),
    _("Unpacking what was installed."),
    _("Waiting for another image to arrive."),
}
LOADING: Final = _("Loading the image: %(done)s of %(total)s MiB, %(ready)s of %(layers)s layers ready.")
LOADING_SAID: Final = re.compile(
    r"Loading the image: (?P<done>\d{1,9}) of (?P<total>\d{1,9}) MiB, "
    r"(?P<ready>\d{1,3}) of (?P<layers>\d{1,3}) layers ready\."
)
CUT_OFF: Final = "Cut off: "
"""Prefix of the detail of an interrupted operation; the reason follows, as whatever failed gave it."""


def as_said(detail: str) -> str:
    """Return the form in which a detail of an instance or operation is stored."""
    if detail in PROGRESS_WORDS or LOADING_SAID.fullmatch(detail):
        return detail
    if detail.startswith(CUT_OFF):
        return f"{CUT_OFF}{host_says(detail.removeprefix(CUT_OFF))}"
    return host_says(detail)
