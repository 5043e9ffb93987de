"""Failures of instances that name what they are about, by hosts' codes. `common.messages` says how messages are kept."""

from django.utils.translation import gettext_lazy as _

from common.messages.message import HostSays, Message


class PortTaken(Message, code="port_taken", text=_("Port %(port)s of the host is taken by another program.")):
    port: int


class VolumeMissing(Message, code="volume_missing", text=_("A volume is not on its host. %(why)s")):
    """`volume` is its ID in 32 hex digits, or its name from an agent of version 0.1.0."""

    volume: str
    why: HostSays
