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


_OURS: Final = _("The program did something invalid. The GPU and the host are fine.")
_MEMORY: Final = _("The GPU's memory is failing. Save your work, then stop the instance and start it on other GPUs.")
_DEAD: Final = _("The GPU can't be used until the host owner fixes it. Start on other GPUs; your data is kept.")
_LINK: Final = _("Multi-GPU work may hang or give wrong results. Save your work and move to another host.")
_DRIVER: Final = _("The host's driver has a problem. If programs hang, stop the instance and start it again.")


def _program(title: Words, advice: Words = _OURS) -> Xid:
    return Xid(title, advice, FaultOf.RENTER)


def _host(title: Words, advice: Words) -> Xid:
    return Xid(title, advice, FaultOf.HOST)


XIDS: Final[dict[int, Xid]] = {
    13: _program(_("A program's computation failed on the GPU")),
    31: _program(_("A program accessed GPU memory that isn't its own")),
    32: _program(_("A program sent the GPU invalid commands")),
    43: _program(_("A program on the GPU was ended after its own error")),
    45: _program(_("A program on the GPU was ended"), _("It was stopped externally, or after an earlier error.")),
    68: _program(_("The video decoder received invalid data")),
    69: _program(_("A program used the graphics engine incorrectly")),
    109: _program(_("A program held the GPU for too long")),
    48: _host(_("The GPU found an uncorrectable memory error"), _MEMORY),
    61: _host(_("The GPU's internal controller has stopped"), _DEAD),
    62: _host(_("The GPU's internal controller has stopped"), _DEAD),
    63: _host(_("The GPU retired faulty memory"), _("The GPU keeps working; programs may have been ended.")),
    64: _host(_("The GPU couldn't retire faulty memory"), _MEMORY),
    74: _host(_("A link between GPUs (NVLink) failed"), _LINK),
    79: _host(_("The GPU has fallen off the bus: the host lost its PCIe connection"), _DEAD),
    92: _host(_("The GPU corrects errors in its memory unusually often"), _MEMORY),
    94: _host(_("A GPU memory error ended the program using it"), _MEMORY),
    95: _host(_("A GPU memory error may have affected several programs"), _MEMORY),
    119: _host(_("The GPU system processor isn't responding"), _DRIVER),
    120: _host(_("The GPU system processor had an error"), _DRIVER),
    140: _host(_("The GPU found an uncorrectable memory error"), _MEMORY),
}
_UNKNOWN: Final = Xid(
    _("The driver reported a GPU error"),
    _("The cause is unknown. If programs fail, stop the instance and start it on other GPUs."),
    FaultOf.PLATFORM,
)


def xid_of(number: int) -> Xid:
    return XIDS.get(number, _UNKNOWN)
