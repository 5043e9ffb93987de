"""What incidents about hosts, offers and sweeps say, and the names of all kinds."""

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from common.errors import DomainError
from common.messages.message import Message, Second, Words
from common.refusals import refused


class LateSweeps(
    Message,
    code="late_sweeps",
    text=_("Not run since %(since)s: %(sweeps)s. Check that a worker and exactly one beat process are running."),
):
    since: Second
    sweeps: tuple[Message, ...]


class NoSweepYet(
    Message,
    code="no_sweep_yet",
    text=_("No sweep has ever run. Check that a worker and exactly one beat process are running."),
):
    pass


class OfferDrift(
    Message,
    code="offer_drift",
    text=_("The offer's column %(column)s is %(shown)s; according to its host it should be %(truth)s."),
):
    column: str
    shown: str
    truth: str


class GpuClaimedTwice(
    Message,
    code="gpu_claimed_twice",
    text=_("The host %(host)s reports this GPU, but it belongs to the host %(owner)s."),
):
    host: str
    owner: str


class MassSilence(
    Message,
    code="mass_silence",
    text=_(
        "%(lost)s of %(watched)s hosts of %(owners)s owners stopped responding together. No host is marked as not responding"
        " until they are back."
    ),
):
    lost: int
    watched: int
    owners: int


class AfterRestore(
    Message,
    code="after_restore",
    text=ngettext_lazy(
        "%(count)s difference between the restored backup and the hosts. Most recent: %(newest)s",
        "%(count)s differences between the restored backup and the hosts. Most recent: %(newest)s",
        "count",
    ),
):
    count: int
    newest: tuple[Message, ...]


class Refusal(Message, code="stuck", text=_("This step fails each time it is tried: %(why)s")):
    why: Message


def stuck(error: DomainError) -> Message:
    return Refusal(why=refused(error))


KINDS: Final[Mapping[str, Words]] = {
    "after_backup": _("Differences after a restore"),
    "clock_jumped": _("Clock can't be trusted"),
    "path_broken": _("Instance can't be reached"),
    "paused": _("Instance paused by its host"),
    "throttled": _("Instance limited by its host"),
    "data_disk_missing": _("Data disk missing"),
    "foreign_container": _("Unknown containers"),
    "gpu_claimed": _("GPU reported by two hosts"),
    "gpu_fault": _("GPU fault"),
    "instance_overdue": _("Instance overdue"),
    "lease_difference": _("Leases differ from instances"),
    "ledger_finding": _("Ledger check failed"),
    "market_behind_its_hosts": _("Host knows a later epoch"),
    "mass_silence": _("Many hosts not responding"),
    "move_stuck": _("Migration doesn't progress"),
    "fault_report": _("Renter reported a fault"),
    "offer_drift": _("Offer differs from its host"),
    "report_refused": _("Host report couldn't be applied"),
    "report_refused_in_part": _("Part of a host report was invalid"),
    "root_lost": _("System disk missing"),
    "strange_report": _("Implausible host report"),
    "sweeps_late": _("Background tasks late"),
    "two_agents": _("Two agents with one identity"),
    "unmetered_instance": _("Instance ran unmetered"),
    "volume_missing": _("Volume missing"),
    "volume_move_stuck": _("Volume migration doesn't progress"),
    "watch_hold_difference": _("Waitlist hold differs"),
    "write_off_stuck": _("Write-off doesn't progress"),
}
CLOSERS: Final[Mapping[str, Words]] = {
    "found again": _("found"),
    "runs again": _("running again"),
    "removed": _("removed from the host"),
    "released": _("instance released"),
    "unfrozen": _("host unfrozen"),
    "they are made again": _("tasks run again"),
    "time limit": _("time limit reached"),
}
"""What closes incidents other than people, whose addresses stand as they are."""
