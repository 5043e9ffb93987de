"""State machines of a host and its verification, and the kinds of reliability events."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.transitions import Machine


class HostState(models.TextChoices):
    ONLINE = "online", _("online")
    SILENT = "silent", _("silent")  # no report for HOST_SILENT_AFTER; leases stay (D2)
    FROZEN = "frozen", _("frozen")  # two agents with one identity, or by the operator's order
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


class Verification(models.TextChoices):
    UNVERIFIED = "unverified", _("unverified")
    VERIFIED = "verified", _("verified")  # a self-test of the present hardware passed, and staff do not object
    LAPSED = "lapsed", _("lapsed")  # was verified; the hardware changed, a self-test failed, or the last one is too old
    REFUSED = "refused", _("refused")  # staff's decision


class Verdict(models.TextChoices):
    PENDING = "pending", _("pending")
    PASSED = "passed", _("passed")
    FAILED = "failed", _("failed")
    EXPIRED = "expired", _("expired")  # the agent did not answer in time


class MeasurementKind(models.TextChoices):
    DISK = "disk", _("disk")
    NETWORK = "network", _("network")


class MaintenanceCategory(models.TextChoices):
    POWER = "power", _("power")
    INTERNET = "internet", _("internet")
    DISK = "disk", _("disk")
    GPU = "gpu", _("GPU")
    SOFTWARE = "software", _("software")
    OTHER = "other", _("other")


class ReliabilityKind(models.TextChoices):
    STARTED = "started", _("start")  # an instance that started to run, against which failures are measured
    OUTAGE = "outage", _("outage")  # no report for HOST_SILENT_AFTER, until it reported again
    FAILED_START = "failed_start", _("failed start")  # an instance that failed to start through the host's fault
    HOST_FAULT = "host_fault", _("host fault")  # a running instance that failed through the host's fault
