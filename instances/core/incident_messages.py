"""What incidents about instances say to staff. `common.messages` says how messages are kept and worded."""

from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from common.messages.message import MOST_PARTS, Message, Micros, Name, Second
from instances.states import InstanceState


def names_of(names: Iterable[str]) -> tuple[Message, ...]:
    """Return names in their order, as many as one message takes."""
    return tuple(Name(name=name) for name in sorted(names)[:MOST_PARTS])


class OverdueSince(Message, code="overdue_since", text=_("%(state)s; due by %(at)s")):
    state: InstanceState
    at: datetime


class LeaseDifference(
    Message, code="lease_difference", text=_("Leased GPUs: %(leased)s. GPUs according to the instance: %(expected)s.")
):
    leased: Message
    expected: Message


class NoGpus(Message, code="no_gpus", text=_("none")):
    pass


class LedgerFinding(
    Message, code="ledger_finding", text=_("Check %(check)s failed for %(subject)s: %(detail)s (must hold: %(rule)s)")
):
    check: str
    subject: str
    detail: str
    rule: str


class HeldWithoutWaiting(
    Message, code="held_without_waiting", text=_("%(amount)s is on hold, but this waitlist entry has ended.")
):
    amount: Micros


class WaitsWithoutHold(
    Message, code="waits_without_hold", text=_("This waitlist entry waits to rent, but nothing is on hold for it.")
):
    pass


class Remetered(
    Message,
    code="remetered",
    text=_("The instance ran without a meter; a new one was opened at %(at)s. Find out what closed the previous one."),
):
    at: Second


class ClockUntrusted(
    Message,
    code="clock_untrusted",
    text=_("%(trouble)s Until it can be trusted again, this machine meters nothing and runs no background tasks."),
):
    trouble: Message


class ForeignContainers(
    Message, code="foreign_containers", text=_("Containers on this host that Berth didn't create: %(names)s")
):
    names: tuple[Message, ...]


class UnknownGeneration(
    Message, code="unknown_generation", text=_("The host reports generation %(generation)s, which Berth never requested.")
):
    generation: int


class OtherGpus(Message, code="other_gpus", text=_("The instance runs with GPUs that it doesn't lease: %(gpus)s")):
    gpus: tuple[Message, ...]
