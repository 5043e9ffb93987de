"""Xid errors of NVIDIA's driver in plain words, with the party at fault for each.

Errors of the first group come from programs: the GPU is sound, so nothing is refunded (NVIDIA's Kubernetes plugin
ignores the same ones). Sources: NVIDIA's "Xid Errors" guide, the list in k8s-device-plugin.
"""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from instances.states import FaultOf

Words = str | Promise


@dataclass(frozen=True)
class Xid:
    """One Xid of the driver; `fault_of` is the party at fault."""

    title: Words
    advice: Words
    fault_of: str


_OURS: Final = _("The program on the GPU did something that it may not. The GPU itself is sound, and the host too.")
_MEMORY: Final = _("The GPU's memory is failing. Save your work, stop the instance and start it again on other GPUs.")
_DEAD: Final = _("The GPU cannot work until its host's owner has seen to it. Start on other GPUs; your data is kept.")
_LINK: Final = _("Work on several GPUs may hang or be wrong. Save your work and move to another host.")
_DRIVER: Final = _("The driver on the host is in trouble. If programs hang, stop the instance and start it again.")


def _program(title: Words, advice: Words = _OURS) -> Xid:
    return Xid(title, advice, FaultOf.RENTER)


def _host(title: Words, advice: Words) -> Xid:
    return Xid(title, advice, FaultOf.HOST)


XIDS: Final[dict[int, Xid]] = {
    13: _program(_("A program made an error in a computation on the GPU")),
    31: _program(_("A program reached for GPU memory that is not its own")),
    32: _program(_("A program gave the GPU a broken list of commands")),
    43: _program(_("A program on the GPU was ended after an error of its own")),
    45: _program(_("A program on the GPU was ended"), _("It was stopped from outside, or after an earlier error.")),
    68: _program(_("A video decoder was given what it cannot read")),
    69: _program(_("A program used the graphics unit wrongly")),
    109: _program(_("A program held the GPU for too long")),
    48: _host(_("The GPU found an error in its memory that it could not correct"), _MEMORY),
    61: _host(_("The GPU's inner controller has stopped"), _DEAD),
    62: _host(_("The GPU's inner controller has stopped"), _DEAD),
    63: _host(_("The GPU has set a worn part of its memory aside"), _("It goes on; programs may have been ended.")),
    64: _host(_("The GPU could not set a worn part of its memory aside"), _MEMORY),
    74: _host(_("A link between GPUs (NVLink) failed"), _LINK),
    79: _host(_("The GPU has fallen off the bus: its host cannot reach it any more"), _DEAD),
    92: _host(_("The GPU corrects errors in its memory unusually often"), _MEMORY),
    94: _host(_("An error in the GPU's memory ended the program that used it"), _MEMORY),
    95: _host(_("An error in the GPU's memory may have touched several programs"), _MEMORY),
    119: _host(_("The GPU's system processor does not answer"), _DRIVER),
    120: _host(_("The GPU's system processor had an error"), _DRIVER),
    140: _host(_("The GPU found an error in its memory that it could not correct"), _MEMORY),
}
_UNKNOWN: Final = Xid(
    _("The driver reported an error of the GPU"),
    _("It is not known whose fault it is. If programs fail, stop the instance and start it again on other GPUs."),
    FaultOf.PLATFORM,
)
XID_TITLES: Final = (*(each.title for each in XIDS.values()), _UNKNOWN.title)


def xid_of(number: int) -> Xid:
    return XIDS.get(number, _UNKNOWN)
