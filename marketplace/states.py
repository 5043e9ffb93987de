"""The life of a host, as data."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.transitions import Machine


class HostState(models.TextChoices):
    ONLINE = "online", _("online")
    SILENT = "silent", _("silent")  # no report for HOST_SILENT_AFTER; leases stay (D2)
    FROZEN = "frozen", _("frozen")  # two agents with one identity, or the operator's order
    RETIRED = "retired", _("retired")


HOST_MACHINE = Machine(
    name="host",
    initial=HostState.ONLINE,
    final=frozenset({HostState.RETIRED}),
    table={
        HostState.ONLINE: frozenset({HostState.SILENT, HostState.FROZEN, HostState.RETIRED}),
        HostState.SILENT: frozenset({HostState.ONLINE, HostState.FROZEN, HostState.RETIRED}),
        HostState.FROZEN: frozenset({HostState.ONLINE, HostState.RETIRED}),
        HostState.RETIRED: frozenset(),
    },
)
